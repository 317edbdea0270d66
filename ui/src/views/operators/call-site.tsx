// Where an operator was called from, in one line.

/** The innermost frame of the user's own code; else the innermost with a line; else the innermost. */
export function callSite(stack: readonly string[] | null): string {
  const own = stack?.find((frame) => !/^(<built-in|torch\/|nn\.Module: )/.test(frame));
  return own ?? stack?.find((frame) => !/^(<built-in|nn\.Module: )/.test(frame)) ?? stack?.[0] ?? "";
}

/** The innermost module around the call: `Linear_3`. */
export function moduleOf(stack: readonly string[] | null): string | undefined {
  return stack?.find((frame) => frame.startsWith("nn.Module: "))?.slice("nn.Module: ".length);
}

export function CallSite({ stack }: { stack: string[] | null }) {
  const module = moduleOf(stack);
  return (
    <bdi title={stack?.join("\n")}>
      {callSite(stack)}
      {module && <span class="quiet"> in {module}</span>}
    </bdi>
  );
}
