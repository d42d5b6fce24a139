// Svelte's compiler settings. Runes everywhere: a component without them would silently use the older semantics.
export default { compilerOptions: { runes: true } };
