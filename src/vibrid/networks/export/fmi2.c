/* A step as an FMU: the functions of FMI 2.0 for co-simulation (fmi-standard.org) around `fmu_model.h`.
 *
 * One communication step is a whole number of steps of the model, with the inputs held. The outputs after it belong to
 * the inputs before it. A step with flags returns fmi2Warning. Types are those of FMI's "default" platform. */
#include "fmu_model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define FMI2_EXPORT __declspec(dllexport)
#else
#define FMI2_EXPORT __attribute__((visibility("default")))
#endif

typedef void *fmi2Component, *fmi2Environment, *fmi2FMUstate;
typedef unsigned int fmi2Reference;
typedef double fmi2Real;
typedef int fmi2Integer, fmi2Boolean;
typedef char fmi2Char, fmi2Byte;
typedef const fmi2Char *fmi2String;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;
typedef struct {
    void (*logger)(fmi2Environment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2Environment, fmi2Status);
    fmi2Environment environment;
} fmi2Callbacks;

/* What a saved state holds. */
typedef struct {
    fmu_state state;
    double inputs[FMU_INPUTS], outputs[FMU_OUTPUTS], time;
    int flags, is_ready;
} Memory;

typedef struct {
    Memory now;
    fmi2Callbacks callbacks;
    char *name;
} Instance;

static fmi2Status problem(Instance *own, const char *text) {
    if (own->callbacks.logger)
        own->callbacks.logger(own->callbacks.environment, own->name, fmi2Error, "logStatusError", text);
    return fmi2Error;
}

static void rest(Memory *now) {
    memset(now, 0, sizeof *now);
    fmu_start(&now->state);
    memcpy(now->inputs, fmu_first, sizeof now->inputs);
}

/* -- life of an instance ------------------------------------------------------------------------------------------ */

FMI2_EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
FMI2_EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

FMI2_EXPORT fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                          const fmi2Callbacks *callbacks, fmi2Boolean visible, fmi2Boolean logging) {
    (void)resources, (void)visible, (void)logging;
    Instance *own = calloc(1, sizeof *own);
    if (!own) return NULL;
    if (callbacks) own->callbacks = *callbacks;
    own->name = calloc(1, strlen(name ? name : "") + 1);
    if (own->name) strcpy(own->name, name ? name : "");
    const char *wrong = !own->name                      ? "There is no memory for the name."
                        : type != fmi2CoSimulation      ? "This FMU is for co-simulation only."
                        : !guid || strcmp(guid, FMU_GUID) ? "The GUID is not that of this FMU's modelDescription.xml."
                                                        : NULL;
    if (wrong) {
        problem(own, wrong);
        free(own->name);
        free(own);
        return NULL;
    }
    rest(&own->now);
    return own;
}

FMI2_EXPORT void fmi2FreeInstance(fmi2Component c) {
    if (!c) return;
    free(((Instance *)c)->name);
    free(c);
}

FMI2_EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[]) {
    (void)c, (void)on, (void)n, (void)categories;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean given, fmi2Real tolerance, fmi2Real start,
                                           fmi2Boolean ends, fmi2Real stop) {
    (void)given, (void)tolerance, (void)ends, (void)stop;
    ((Instance *)c)->now.time = start;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return (void)c, fmi2OK; }

FMI2_EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
    ((Instance *)c)->now.is_ready = 1;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2Terminate(fmi2Component c) {
    ((Instance *)c)->now.is_ready = 0;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2Reset(fmi2Component c) {
    rest(&((Instance *)c)->now);
    return fmi2OK;
}

/* -- numbers: inputs, then outputs, then limits; the flags are the only integer -------------------------------------- */

FMI2_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2Reference which[], size_t n, fmi2Real values[]) {
    Instance *own = c;
    for (size_t i = 0; i < n; i++) {
        size_t k = which[i];
        if (k < FMU_INPUTS) values[i] = own->now.inputs[k];
        else if (k < FMU_INPUTS + FMU_OUTPUTS) values[i] = own->now.outputs[k - FMU_INPUTS];
        else if (k < FMU_INPUTS + FMU_OUTPUTS + FMU_LIMITS) values[i] = fmu_limits[k - FMU_INPUTS - FMU_OUTPUTS];
        else return problem(own, "There is no real variable with this value reference.");
    }
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2Reference which[], size_t n, const fmi2Real values[]) {
    Instance *own = c;
    for (size_t i = 0; i < n; i++) {
        if (which[i] >= FMU_INPUTS) return problem(own, "Only inputs can be set.");
        own->now.inputs[which[i]] = values[i];
    }
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetInteger(fmi2Component c, const fmi2Reference which[], size_t n, fmi2Integer values[]) {
    Instance *own = c;
    for (size_t i = 0; i < n; i++) {
        if (which[i] != 0) return problem(own, "There is no integer variable with this value reference.");
        values[i] = own->now.flags;
    }
    return fmi2OK;
}

static fmi2Status none(fmi2Component c, size_t n) {
    return n ? problem(c, "There is no variable of this type that can be read or set.") : fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetInteger(fmi2Component c, const fmi2Reference which[], size_t n, const fmi2Integer v[]) {
    return (void)which, (void)v, none(c, n);
}
FMI2_EXPORT fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2Reference which[], size_t n, fmi2Boolean v[]) {
    return (void)which, (void)v, none(c, n);
}
FMI2_EXPORT fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2Reference which[], size_t n, const fmi2Boolean v[]) {
    return (void)which, (void)v, none(c, n);
}
FMI2_EXPORT fmi2Status fmi2GetString(fmi2Component c, const fmi2Reference which[], size_t n, fmi2String v[]) {
    return (void)which, (void)v, none(c, n);
}
FMI2_EXPORT fmi2Status fmi2SetString(fmi2Component c, const fmi2Reference which[], size_t n, const fmi2String v[]) {
    return (void)which, (void)v, none(c, n);
}

/* -- steps ---------------------------------------------------------------------------------------------------------- */

FMI2_EXPORT fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real size, fmi2Boolean final) {
    Instance *own = c;
    (void)final;
    if (!own->now.is_ready) return problem(own, "A step needs an instance that is initialised and not terminated.");
    double steps = size * FMU_RATE, whole = floor(steps + 0.5);
    if (!(whole >= 1.0 && whole <= 1e9 && fabs(steps - whole) <= 1e-6 * whole)) {
        char text[160];
        snprintf(text, sizeof text, "A communication step must be a multiple of %.17g s, the step of the model.",
                 1.0 / FMU_RATE);
        return problem(own, text);
    }
    own->now.flags = 0;
    for (long i = 0; i < (long)whole; i++)
        own->now.flags |= (int)fmu_step(&own->now.state, own->now.inputs, own->now.outputs);
    own->now.time = time + size;
    return own->now.flags ? fmi2Warning : fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2CancelStep(fmi2Component c) { return problem(c, "No step is ever pending."); }

FMI2_EXPORT fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2Reference which[], size_t n,
                                                   const fmi2Integer order[], const fmi2Real v[]) {
    return (void)which, (void)order, (void)v, none(c, n);
}
FMI2_EXPORT fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2Reference which[], size_t n,
                                                    const fmi2Integer order[], fmi2Real v[]) {
    return (void)which, (void)order, (void)v, none(c, n);
}
FMI2_EXPORT fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2Reference unknown[], size_t n,
                                                    const fmi2Reference known[], size_t m, const fmi2Real dv[],
                                                    fmi2Real v[]) {
    return (void)unknown, (void)known, (void)m, (void)dv, (void)v, none(c, n);
}

FMI2_EXPORT fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value) {
    return (void)c, (void)kind, (void)value, fmi2Discard; /* no step is ever pending */
}
FMI2_EXPORT fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value) {
    if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
    *value = ((Instance *)c)->now.time;
    return fmi2OK;
}
FMI2_EXPORT fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value) {
    return (void)c, (void)kind, (void)value, fmi2Discard;
}
FMI2_EXPORT fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value) {
    if (kind != fmi2Terminated) return fmi2Discard;
    *value = 0; /* the model never ends a simulation by itself */
    return (void)c, fmi2OK;
}
FMI2_EXPORT fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *value) {
    return (void)c, (void)kind, (void)value, fmi2Discard;
}

/* -- saved states ----------------------------------------------------------------------------------------------------- */

FMI2_EXPORT fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *saved) {
    if (!*saved) *saved = malloc(sizeof(Memory));
    if (!*saved) return problem(c, "There is no memory for a state.");
    memcpy(*saved, &((Instance *)c)->now, sizeof(Memory));
    return fmi2OK;
}
FMI2_EXPORT fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate saved) {
    memcpy(&((Instance *)c)->now, saved, sizeof(Memory));
    return fmi2OK;
}
FMI2_EXPORT fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *saved) {
    (void)c;
    free(*saved);
    *saved = NULL;
    return fmi2OK;
}
FMI2_EXPORT fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate saved, size_t *size) {
    (void)c, (void)saved;
    *size = sizeof(Memory);
    return fmi2OK;
}
FMI2_EXPORT fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate saved, fmi2Byte bytes[], size_t size) {
    if (size < sizeof(Memory)) return problem(c, "These bytes are too few for a state.");
    memcpy(bytes, saved, sizeof(Memory));
    return fmi2OK;
}
FMI2_EXPORT fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size,
                                               fmi2FMUstate *saved) {
    if (size != sizeof(Memory)) return problem(c, "These bytes are no state of this FMU.");
    if (!*saved) *saved = malloc(sizeof(Memory));
    if (!*saved) return problem(c, "There is no memory for a state.");
    memcpy(*saved, bytes, sizeof(Memory));
    return fmi2OK;
}
