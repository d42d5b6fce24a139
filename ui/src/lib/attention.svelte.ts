// Whether the attention panel is open: the header, a key and the palette open it.
export const attention = $state<{ open: boolean }>({ open: false });
