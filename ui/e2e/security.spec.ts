// Who may ask, and what an answer allows a browser to do.

import { type IncomingMessage, request } from "node:http";
import { expect, test } from "./support/fixtures.ts";
import { TRACES } from "./support/paths.ts";
import type { LiveServer } from "./support/server.ts";

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

interface Asked {
  path?: string;
  method?: string;
  headers?: Record<string, string>;
}

/** A request as no browser would send it; the path goes out as it is. */
function send(server: LiveServer, asked: Asked): Promise<IncomingMessage & { text: string }> {
  const { host, hostname, port } = new URL(server.url);
  const options = {
    hostname,
    port,
    method: asked.method ?? "GET",
    path: asked.path ?? pathOf(server),
    headers: { Host: host, ...asked.headers },
  };
  return new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      let text = "";
      response.on("data", (part) => {
        text += part;
      });
      response.on("end", () => resolve(Object.assign(response, { text })));
    });
    sent.on("error", reject);
    sent.end();
  });
}

const pathOf = (server: LiveServer) => new URL(server.url).pathname;

test("the page and its answers carry the policy, and no leave for other pages", async ({ serve }) => {
  const server = await serve(TRACES.mini);
  for (const path of ["", "stepscope.js", "stepscope.css", "api/runs", "api/r/0/timeline", "nothing"]) {
    const { headers } = await send(server, { path: pathOf(server) + path });
    expect(headers["content-security-policy"], path).toBe(POLICY);
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["referrer-policy"]).toBe("no-referrer");
    expect(headers["x-frame-options"]).toBe("DENY");
    expect(headers["cross-origin-resource-policy"]).toBe("same-origin");
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
  }
});

test("without the token there is nothing", async ({ serve }) => {
  const server = await serve(TRACES.mini);
  const token = pathOf(server).replaceAll("/", "");
  expect(token).toMatch(/^[a-z2-7]{24}$/);
  const wrong = token.replace(/^./, (first) => (first === "a" ? "b" : "a"));
  const paths = [
    "/",
    "/api/runs",
    `/${wrong}/`,
    `/${wrong}/api/runs`,
    `/${wrong}/api/r/0/timeline`,
    `/${token}x/`,
  ];
  for (const path of [...paths, `/${token.slice(1)}/`, `/${wrong}/stepscope.js`]) {
    const { statusCode, text } = await send(server, { path });
    expect(statusCode, path).toBe(404);
    expect(text).not.toContain(token);
  }
});

test("only this machine's names and its own pages are answered", async ({ serve }) => {
  const server = await serve(TRACES.mini);
  const refused: Record<string, string>[] = [
    { Host: "evil.example" },
    { Host: `evil.example:${server.port}` },
    { Host: `127.0.0.1.evil.example:${server.port}` },
    { Origin: "http://evil.example" },
    { Origin: "null" },
    { Origin: `https://127.0.0.1:${server.port}` },
    { "Sec-Fetch-Site": "cross-site" },
    { "Sec-Fetch-Site": "same-site" },
  ];
  for (const path of ["", "api/runs"])
    for (const headers of refused) {
      const { statusCode } = await send(server, { path: pathOf(server) + path, headers });
      expect(statusCode, JSON.stringify(headers)).toBe(403);
    }
  const welcome: Record<string, string>[] = [
    {},
    { Host: `localhost:${server.port}` },
    { Origin: server.origin },
    { "Sec-Fetch-Site": "same-origin" },
    { "Sec-Fetch-Site": "none" },
  ];
  for (const headers of welcome)
    expect((await send(server, { headers })).statusCode, JSON.stringify(headers)).toBe(200);
});

test("nothing can be changed from outside", async ({ serve }) => {
  const server = await serve(TRACES.mini);
  for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
    expect((await send(server, { method })).statusCode, method).toBe(405);
});

test("no path leads out of the page's files", async ({ serve }) => {
  const server = await serve(TRACES.mini);
  const outside = [
    "../Cargo.toml",
    "..%2fCargo.toml",
    "..%2f..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "..%5c..%5cCargo.toml",
    "%2fetc%2fpasswd",
    "....//etc/passwd",
    "stepscope.js%00.txt",
    "assets/../../index.html",
    "index.html%2f..%2f..%2fCargo.toml",
  ];
  for (const path of outside) {
    const { statusCode, text } = await send(server, { path: pathOf(server) + path });
    expect(statusCode, path).toBe(404);
    expect(text).not.toMatch(/root:|\[package\]/);
  }
  const questions = [
    "api/r/0/ask/export?to=chrome",
    "api/r/0/ask/ops?output=%2Ftmp%2Fx",
    "api/r/0/ask/../../x",
  ];
  for (const path of questions) {
    const { statusCode } = await send(server, { path: pathOf(server) + path });
    expect([400, 404], path).toContain(statusCode);
  }
});

test("another page cannot read or frame it", async ({ page, serve, complaints }) => {
  complaints.expect(/./);
  const server = await serve(TRACES.mini);
  const foreign = await serve(TRACES.nccl);
  await page.goto(foreign.url);
  const read = await page.evaluate(async (url) => {
    try {
      return await (await fetch(url)).text();
    } catch {
      return "refused";
    }
  }, `${server.url}api/runs`);
  expect(read).toBe("refused");
  await page.setContent(`<iframe src="${server.url}"></iframe>`);
  const frame = page.frames()[1];
  await expect.poll(async () => (await frame?.locator("#app").count()) ?? 0).toBe(0);
});
