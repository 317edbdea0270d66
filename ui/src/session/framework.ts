// Which framework's words a page uses: hints about PyTorch's profiler do not help in a run of JAX or TensorFlow.

import type { InfoAnswer } from "../data/wire.ts";
import { useAsk } from "./use-ask.ts";

export function isXla(framework: string | null | undefined): boolean {
  return framework === "JAX" || framework === "TensorFlow";
}

/** What ran; null where it is none of the frameworks, undefined as long as no one knows. */
export function useFramework(): string | null | undefined {
  return useAsk<InfoAnswer>("info").data?.info.framework;
}

/** Whether the run was recorded by the profiler of JAX or TensorFlow. */
export function useXla(): boolean {
  return isXla(useFramework());
}
