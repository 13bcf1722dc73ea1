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
      this.inside.postMessage = (data) => this.later(() => this.onmessage?.(new MessageEvent("message", { data })));
      const script = frame.contentDocument.createElement("script");
      script.src = new URL(url, document.baseURI).href;
      script.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      };
      frame.contentDocument.body.append(script);
    }
    later(work) {
      setTimeout(work, 0); // as messages do: never inside the call that sends
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.later(() => this.inside.onmessage(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
