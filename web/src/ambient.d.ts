// Aliases of vite.config.ts. '#engine' is typed by wasm/meshwise.d.ts (see tsconfig.json).
declare module '#catalogue?url' {
  const url: string;
  export default url;
}

declare module '#catalogueSources?url' {
  const url: string;
  export default url;
}
