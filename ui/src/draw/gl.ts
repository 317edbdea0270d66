// Strips with WebGL2: all cells in one texture, two triangles a strip, one draw call. (Instanced rectangles, one a slice,
// were tried first: where the GPU is emulated each instance costs as much as a call.)

import type { Rgb } from "./color.ts";
import { AREA, type DrawList, SOLID, type Strip } from "./list.ts";
import { type Painter, resize } from "./painter.ts";

const VERTEX = `#version 300 es
layout(location = 0) in vec2 place;
layout(location = 1) in vec4 strip;
layout(location = 2) in vec4 ink;
uniform vec2 size;
flat out vec4 about;
flat out vec4 color;
void main() {
  gl_Position = vec4(place / size * vec2(2.0, -2.0) + vec2(-1.0, 1.0), 0.0, 1.0);
  about = strip;
  color = ink;
}`;

// Plain cells come first and do the least: most pixels are theirs.
const FRAGMENT = `#version 300 es
precision highp float;
uniform sampler2D cells;
uniform vec2 size;
uniform float ratio;
flat in vec4 about;
flat in vec4 color;
out vec4 seen;
void main() {
  if (about.y == 3.0) {
    seen = vec4(color.rgb * color.a, color.a);
    return;
  }
  vec4 cell = texelFetch(cells, ivec2(int(gl_FragCoord.x), int(about.x)), 0);
  seen = cell;
  if (about.y == 0.0) return;
  vec4 bytes = floor(cell * 255.0 + 0.5);
  if (about.y == 1.0) {
    float across = floor(gl_FragCoord.x / ratio) + floor(gl_FragCoord.y / ratio);
    if (mod(bytes.a, 2.0) == 1.0 && mod(across, 6.0) < 2.0) seen.rgb *= 0.72;
    return;
  }
  float low = (bytes.r + 256.0 * bytes.g) / 65535.0 * about.w;
  float high = (bytes.b + 256.0 * bytes.a) / 65535.0 * about.w;
  float up = about.z + about.w - (size.y - gl_FragCoord.y / ratio);
  float alpha = up < low ? 0.38 : up < high ? 0.19 : 0.0;
  if (up < high && up >= high - 1.0) alpha = 0.9;
  seen = vec4(color.rgb * alpha, alpha);
}`;

/** What the shader calls the kinds of strips. */
const PLAIN_CELLS = 0;
const STRIPED_CELLS = 1;
const AREA_CELLS = 2;
const ONE_COLOR = 3;

/** Floats a corner takes: place, strip, color. */
const CORNER_FLOATS = 10;
const CORNERS_PER_STRIP = 6;

export class GlPainter implements Painter {
  readonly kind = "webgl2";
  readonly canvas: HTMLCanvasElement;
  readonly #gl: WebGL2RenderingContext;
  readonly #size: WebGLUniformLocation | null;
  readonly #ratio: WebGLUniformLocation | null;
  readonly #onLost: (event: Event) => void;
  #bytes = new Uint8Array(0);
  #corners = new Float32Array(CORNER_FLOATS * CORNERS_PER_STRIP * 128);
  #textureWidth = 0;
  #textureHeight = 0;

  /** Nothing where there is no WebGL2. */
  static make(lost: () => void): GlPainter | undefined {
    const canvas = document.createElement("canvas");
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false, stencil: false });
    const program = gl ? makeProgram(gl) : undefined;
    return gl && program ? new GlPainter(canvas, gl, program, lost) : undefined;
  }

  constructor(canvas: HTMLCanvasElement, gl: WebGL2RenderingContext, program: WebGLProgram, lost: () => void) {
    this.canvas = canvas;
    this.#gl = gl;
    this.#onLost = (event) => {
      event.preventDefault();
      lost();
    };
    canvas.addEventListener("webglcontextlost", this.#onLost);
    gl.useProgram(program);
    this.#size = gl.getUniformLocation(program, "size");
    this.#ratio = gl.getUniformLocation(program, "ratio");
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    [2, 4, 4].reduce((offset, floats, attribute) => {
      gl.enableVertexAttribArray(attribute);
      gl.vertexAttribPointer(attribute, floats, gl.FLOAT, false, 4 * CORNER_FLOATS, 4 * offset);
      return offset + floats;
    }, 0);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER])
      gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  paint(list: DrawList, width: number, height: number, ratio: number, ground: Rgb): number {
    const gl = this.#gl;
    resize(this.canvas, width, height, ratio);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(ground.r / 255, ground.g / 255, ground.b / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (list.n === 0) return 0;
    gl.uniform2f(this.#size, width, height);
    gl.uniform1f(this.#ratio, ratio);
    this.#uploadCells(list);
    const corners = this.#uploadCorners(list, width);
    gl.drawArrays(gl.TRIANGLES, 0, corners);
    return 1;
  }

  close(): void {
    this.canvas.removeEventListener("webglcontextlost", this.#onLost);
    this.#gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  #uploadCells(list: DrawList): void {
    const gl = this.#gl;
    const { width, n } = list;
    if (width !== this.#textureWidth || n > this.#textureHeight) {
      this.#textureWidth = width;
      this.#textureHeight = Math.max(64, n, this.#textureHeight);
      const { RGBA, RGBA8, UNSIGNED_BYTE, TEXTURE_2D } = gl;
      gl.texImage2D(TEXTURE_2D, 0, RGBA8, width, this.#textureHeight, 0, RGBA, UNSIGNED_BYTE, null);
    }
    if (this.#bytes.buffer !== list.cells.buffer) this.#bytes = new Uint8Array(list.cells.buffer);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, n, gl.RGBA, gl.UNSIGNED_BYTE, this.#bytes, 0);
  }

  #uploadCorners(list: DrawList, width: number): number {
    const gl = this.#gl;
    const needed = list.n * CORNER_FLOATS * CORNERS_PER_STRIP;
    if (needed > this.#corners.length) this.#corners = new Float32Array(2 * needed);
    let corner = 0;
    for (let i = 0; i < list.n; i++) {
      const strip = list.strips[i]!;
      const { kind, top, height, color } = strip;
      const upper = Math.max(top, strip.from);
      const lower = Math.min(top + height, strip.to);
      const left = kind === SOLID ? strip.left : 0;
      const right = kind === SOLID ? strip.right : width;
      if (lower <= upper) continue;
      for (let c = 0; c < CORNERS_PER_STRIP; c++) {
        const at = corner++ * CORNER_FLOATS;
        this.#corners[at] = c === 1 || c === 4 || c === 5 ? right : left;
        this.#corners[at + 1] = c === 2 || c === 3 || c === 5 ? lower : upper;
        this.#corners[at + 2] = i;
        this.#corners[at + 3] = kindOf(strip);
        this.#corners[at + 4] = top;
        this.#corners[at + 5] = height;
        for (let part = 0; part < 4; part++)
          this.#corners[at + 6 + part] = ((color >>> (8 * part)) & 255) / 255;
      }
    }
    gl.bufferData(gl.ARRAY_BUFFER, this.#corners, gl.STREAM_DRAW, 0, corner * CORNER_FLOATS);
    return corner;
  }
}

function kindOf(strip: Strip): number {
  if (strip.kind === SOLID) return ONE_COLOR;
  if (strip.kind === AREA) return AREA_CELLS;
  return strip.striped ? STRIPED_CELLS : PLAIN_CELLS;
}

function makeProgram(gl: WebGL2RenderingContext): WebGLProgram | undefined {
  const program = gl.createProgram();
  for (const [kind, text] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(kind);
    if (!shader) return undefined;
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return gl.getProgramParameter(program, gl.LINK_STATUS) ? program : undefined;
}
