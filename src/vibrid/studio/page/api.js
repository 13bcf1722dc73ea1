// @ts-check
/** Talking to the server: requests with the token, and one WebSocket that opens again when it is lost. */

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname);
}
const token = sessionStorage.getItem("token") || "";

/** @param {string} method @param {string} path @param {any} [content] @returns {Promise<any>} */
export async function api(method, path, content) {
  const headers = { Authorization: `Bearer ${token}` };
  const body = content === undefined ? undefined : content instanceof Blob ? content : JSON.stringify(content);
  const answer = await fetch(`/api/${path}`, { method, headers, body });
  const text = await answer.text();
  let said = null;
  try { said = JSON.parse(text); } catch { /* a plain sentence */ }
  if (!answer.ok) throw new Error((said && said.problem) || text);
  return said;
}

/** Download a file of a run, or of the workspace. @param {{job?: number, file: string}} what */
export async function download(what) {
  const { address } = await api("POST", "ticket", what);
  const link = document.createElement("a");
  link.href = address;
  link.download = what.file;
  link.click();
}

/** @type {Map<string, Set<(message: any) => void>>} */
const listeners = new Map();
/** @type {Map<number, {resolve: (v: any) => void, reject: (e: Error) => void}>} */
const waiting = new Map();
/** @type {WebSocket | null} */
let socket = null;
let count = 0;

/** Listen to a kind of message: "jobs", "live", "open", "lost". @param {string} kind @param {(message: any) => void} listener */
export function on(kind, listener) {
  if (!listeners.has(kind)) listeners.set(kind, new Set());
  listeners.get(kind)?.add(listener);
}

/** @param {string} kind @param {any} message */
function tell(kind, message) {
  for (const listener of listeners.get(kind) || []) listener(message);
}

/** Open the WebSocket, now and whenever it was lost. */
export function connect() {
  socket = new WebSocket(`ws://${location.host}/live`);
  socket.addEventListener("open", () => {
    socket?.send(JSON.stringify({ token }));
    tell("open", null);
  });
  socket.addEventListener("message", (event) => {
    const message = JSON.parse(event.data);
    if ("id" in message) {
      const asked = waiting.get(message.id);
      waiting.delete(message.id);
      if ("problem" in message) asked?.reject(new Error(message.problem));
      else asked?.resolve(message.simulated);
    } else if ("jobs" in message) tell("jobs", message.jobs);
    else if ("live" in message) tell("live", message.live);
  });
  socket.addEventListener("close", () => {
    for (const asked of waiting.values()) asked.reject(new Error("The server is gone; it may be starting again."));
    waiting.clear();
    tell("lost", null);
    setTimeout(connect, 1000);
  });
}

/** @param {any} message */
export function send(message) {
  if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

/** A simulation by the WebSocket. @param {any} simulate @returns {Promise<any>} */
export function simulate(simulate) {
  return new Promise((resolve, reject) => {
    if (!socket || socket.readyState !== WebSocket.OPEN) { reject(new Error("The server is not there.")); return; }
    count += 1;
    waiting.set(count, { resolve, reject });
    send({ simulate, id: count });
  });
}
