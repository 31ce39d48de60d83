// The connection of a view to its host: JSON-RPC over postMessage (MCP Apps, 2026-01-26).
const host = window.parent;
const waiting = new Map();
const listeners = new Map();
let lastId = 0;

function request(method, params) {
  lastId += 1;
  const id = lastId;
  host.postMessage({ jsonrpc: "2.0", id, method, params }, "*");
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

function notify(method, params) {
  host.postMessage({ jsonrpc: "2.0", method, params }, "*");
}

window.addEventListener("message", (event) => {
  const message = event.data;
  if (event.source !== host || !message || message.jsonrpc !== "2.0") return;
  if (message.method) {
    const listener = listeners.get(message.method);
    if (listener) listener(message.params || {});
    if (message.id === undefined) return;
    const known = message.method === "ping" || message.method === "ui/resource-teardown";
    const reply = known ? { result: {} } : { error: { code: -32601, message: "no such method" } };
    host.postMessage({ jsonrpc: "2.0", id: message.id, ...reply }, "*");
    return;
  }
  const call = waiting.get(message.id);
  if (!call) return;
  waiting.delete(message.id);
  if (message.error) call.reject(new Error(message.error.message));
  else call.resolve(message.result);
});

// All data is text: no element is ever made from a string of HTML.
function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = String(text);
  if (className) made.className = className;
  return made;
}

function reportSize() {
  const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
  notify("ui/notifications/size-changed", { width: window.innerWidth, height });
}

function applyContext(context) {
  if (context && context.theme) document.documentElement.dataset.theme = context.theme;
}

async function start(name, show) {
  listeners.set("ui/notifications/tool-result", (result) => {
    show(result);
    reportSize();
  });
  listeners.set("ui/notifications/host-context-changed", applyContext);
  const params = {
    protocolVersion: "2026-01-26",
    appInfo: { name, version: "1" },
    appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
  };
  const made = await request("ui/initialize", params);
  applyContext(made.hostContext);
  notify("ui/notifications/initialized", {});
  new ResizeObserver(reportSize).observe(document.documentElement);
}
