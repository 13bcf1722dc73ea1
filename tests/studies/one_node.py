"""A SLURM of one node, for the tests of studies: its daemons run as this user, with all their files in one folder.

It takes the programs of Debian's packages slurmctld, slurmd, slurm-client and munge.
"""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")

_CONFIGURATION = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory=1 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def found(name: str) -> str | None:
    """Where a program is; daemons are in a folder that the path of a user does not have."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))


def installed() -> bool:
    return all(found(name) for name in PROGRAMS)


@contextlib.contextmanager
def one_node(folder: Path, cores: int = 2) -> Iterator[dict[str, str]]:
    """The environment in which `sbatch` reaches the node; its daemons end with the block."""
    host = socket.gethostname().partition(".")[0]
    ports = [_free_port(), _free_port()]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o600)
    configuration = folder / "slurm.conf"
    user = pwd.getpwuid(os.getuid()).pw_name
    configuration.write_text(_CONFIGURATION.format(host=host, user=user, ports=ports, folder=folder, cores=cores))
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid", "log-file": "munged.log"}
    munge = [f"--{option}={folder / file}" for option, file in {**files, "seed-file": "munged.seed"}.items()]
    daemons = [["munged", "--foreground", "--force", *munge]]
    daemons += [[name, "-D", "-f", str(configuration)] for name in ("slurmctld", "slurmd")]
    with contextlib.ExitStack() as stack:
        for name, *words in daemons:
            log = stack.enter_context(open(folder / f"{name}.out", "wb"))
            command = [found(name) or name, *words]
            daemon = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
            stack.callback(_ended, daemon)
            time.sleep(0.5)
        _wait_until_idle(environment, folder)
        yield environment


def _wait_until_idle(environment: dict[str, str], folder: Path, patience: float = 60.0) -> None:
    until = time.monotonic() + patience
    while time.monotonic() < until:
        told = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True)
        if told.stdout.strip() == "idle":
            return
        time.sleep(0.5)
    said = "\n".join(f"{log.name}: {log.read_text()[-2000:]}" for log in folder.glob("*.out"))
    raise RuntimeError(f"The node of SLURM is not idle after {patience:g} s ({told.stdout} {told.stderr})\n{said}")


def _ended(daemon: subprocess.Popen) -> None:
    daemon.terminate()
    try:
        daemon.wait(20)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
