// Material's search runs in a worker. Browsers start no worker for a page from a disk, so a hidden frame replaces it.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      const send = (data) => {
        const event = new MessageEvent("message", { data });
        this.onmessage?.(event);
        this.dispatchEvent(event);
      };
      this.inside.document.open();
      this.inside.sendOut = send;
      this.inside.document.write(
        `<body><script>
          self.postMessage = (data) => sendOut(data);
          self.importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {
            const script = document.createElement("script");
            Object.assign(script, { src: url, onload: done, onerror: failed });
            document.body.append(script);
          })), Promise.resolve());
        <` + `/script><script src="${url}"><` + `/script>`);
      this.loaded = new Promise((done) => frame.addEventListener("load", done, { once: true }));
      this.inside.document.close();
    }
    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })));
    }
    terminate() {}
  };
  window.Worker = window.IFrameWorker;
}
