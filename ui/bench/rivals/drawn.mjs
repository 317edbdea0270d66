// When has a page drawn a trace? Asked of every tool in the same way: by the pixels of its canvases.

/**
 * From the page's first moment: keeps the moment when a large canvas first shows more than its ground: at least one
 * pixel in a hundred that is far from the commonest color. Grid lines are fainter, texts are fewer.
 */
export function watchCanvases() {
  const SAMPLE = { width: 320, height: 200 };
  const LEAST = { width: 400, height: 200 };
  const FAR = 48;
  const SHARE = 0.01;
  const EVERY_MS = 100;
  const bench = { at: undefined };
  window.rivalBench = bench;
  // Canvases drawn on since they were last looked at, also those behind the borders of components.
  const fresh = new Set();
  const note = (kind, names) => {
    for (const name of names) {
      const draw = kind?.prototype[name];
      if (!draw) continue;
      kind.prototype[name] = function (...words) {
        fresh.add(this.canvas);
        return draw.apply(this, words);
      };
    }
  };
  note(window.CanvasRenderingContext2D, ["fillRect", "fill", "drawImage", "putImageData"]);
  const calls = ["drawArrays", "drawElements", "drawArraysInstanced", "drawElementsInstanced"];
  note(window.WebGLRenderingContext, calls);
  note(window.WebGL2RenderingContext, calls);
  // A drawing buffer that is kept can be read at any time.
  const getContext = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, attributes) {
    const kept = /webgl/.test(kind) ? { ...attributes, preserveDrawingBuffer: true } : attributes;
    return getContext.call(this, kind, kept);
  };
  const small = document.createElement("canvas");
  small.width = SAMPLE.width;
  small.height = SAMPLE.height;
  const context = getContext.call(small, "2d", { willReadFrequently: true });
  context.imageSmoothingEnabled = false;
  const isDrawn = (canvas) => {
    if (canvas.width < LEAST.width || canvas.height < LEAST.height) return false;
    context.clearRect(0, 0, small.width, small.height);
    context.drawImage(canvas, 0, 0, small.width, small.height);
    const { data } = context.getImageData(0, 0, small.width, small.height);
    const seen = new Map();
    for (let i = 0; i < data.length; i += 4) {
      const color = data[i + 3] < 128 ? -1 : (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
      seen.set(color, (seen.get(color) ?? 0) + 1);
    }
    const ground = [...seen].sort((a, b) => b[1] - a[1])[0][0];
    const parts = (color) => [color >> 16, (color >> 8) & 255, color & 255];
    const [red, green, blue] = parts(ground === -1 ? 0xffffff : ground);
    let far = 0;
    for (const [color, count] of seen) {
      if (color === -1) continue;
      const [r, g, b] = parts(color);
      if (Math.max(Math.abs(r - red), Math.abs(g - green), Math.abs(b - blue)) > FAR) far += count;
    }
    return far > SHARE * small.width * small.height;
  };
  const look = () => {
    // Reading pixels back takes time that is not the tool's.
    const now = performance.timeOrigin + performance.now();
    const drawnOn = [...fresh].filter((canvas) => canvas.isConnected);
    for (const canvas of drawnOn) fresh.delete(canvas);
    if (drawnOn.some(isDrawn)) bench.at = now;
    else setTimeout(look, EVERY_MS);
  };
  setTimeout(look, EVERY_MS);
}
