"""One file a module: what each part promises by itself."""
