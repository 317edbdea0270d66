import { afterEach, expect, it, vi } from "vitest";
import { HttpSource } from "../../src/data/http.ts";
import { SourceError } from "../../src/data/source.ts";

const source = new HttpSource({ loading: () => {}, online: () => {} });
afterEach(() => vi.unstubAllGlobals());

async function messageOf(response: Response): Promise<string> {
  vi.stubGlobal("fetch", async () => response);
  const error = await source.runs().catch((one: unknown) => one);
  if (!(error instanceof SourceError)) throw error;
  return error.problem.message;
}

it("tells a refusal of this server from the page of an earlier one", async () => {
  const own = JSON.stringify({ error: { message: "no such run" } });
  expect(await messageOf(new Response(own, { status: 404 }))).toBe("no such run");
  expect(await messageOf(new Response("Not here.", { status: 404 }))).toContain("restarted");
  expect(await messageOf(new Response("", { status: 500, statusText: "Bad" }))).toBe(
    "The server answered 500 Bad.",
  );
});

it("asks for a comparison with the runs of both sides and its options", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    return new Response("{}");
  });
  await source.diff([0, 2], [1], { top: 0, device: undefined, filter: "a|b" });
  expect(asked).toEqual(["api/diff?a=0%2C2&b=1&top=0&filter=a%7Cb"]);
});
