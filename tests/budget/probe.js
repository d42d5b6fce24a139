// Injected into the page: what a user would feel, measured where it is felt. Works in Chromium and in WebKitGTK alike.
// A lag is the time by which a timer of 4 ms came late, so it is the longest piece of work in between: a long task has no name
// here, but no engine can hide it. A click counts from the moment of the input to the frame that shows its effect.
(() => {
  if (window.probe) return;
  const probe = (window.probe = { lags: [], clicks: [], frames: 0, switches: [] });
  let last = performance.now();
  const channel = new MessageChannel();
  const look = () => {
    const now = performance.now();
    if (now - last > 50) probe.lags.push([Math.round(last), Math.round(now - last)]);
    last = now;
    setTimeout(() => channel.port1.postMessage(0), 4);
  };
  channel.port2.onmessage = look;
  look();
  const frame = () => {
    probe.frames += 1;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  // The frame after the handlers ran has been drawn when a message posted from inside it arrives.
  const drawn = (then) => requestAnimationFrame(() => {
    const port = new MessageChannel();
    port.port2.onmessage = () => then(performance.now());
    port.port1.postMessage(0);
  });
  addEventListener('pointerdown', (event) => {
    const at = event.timeStamp;
    addEventListener('click', () => drawn((now) => probe.clicks.push(now - at)), { capture: true, once: true });
  }, { capture: true });
  /** Time from now until the screen shows what is looked for. */
  probe.until = (selector, begin) => new Promise((resolve) => {
    const began = performance.now();
    const look = () => {
      if (document.querySelector(selector)) drawn((now) => { probe.switches.push(now - began); resolve(now - began); });
      else if (performance.now() - began > 10_000) resolve(-1);
      else requestAnimationFrame(look);
    };
    begin();
    look();
  });
})();
