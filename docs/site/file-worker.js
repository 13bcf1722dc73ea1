// Pages opened from a disk (file:) may not start workers. The search worker then runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.waiting = [];
      this.inside.postMessage = (data) => this.later((data) => this.onmessage?.(new MessageEvent("message", { data })), data);
      const script = frame.contentDocument.createElement("script");
      script.src = new URL(url, document.baseURI).href;
      script.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      };
      frame.contentDocument.body.append(script);
    }
    later(deliver, data) {
      setTimeout(deliver, 0, structuredClone(data)); // as messages do: a copy, and never inside the call that sends
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(structuredClone(data));
      else this.later((data) => this.inside.onmessage(new MessageEvent("message", { data })), data);
    }
    terminate() {}
  };
}
