import { defineConfig } from "vite";

// The bundle goes where the `serve` crate embeds it from. One script and one style: the HTML report inlines both.
export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../crates/serve/dist",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: {
        entryFileNames: "stepscope.js",
        assetFileNames: "stepscope.[ext]",
        inlineDynamicImports: true,
      },
    },
  },
});
