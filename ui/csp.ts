/**
 * The content security policy of the shipped window, word for word as in `src-tauri/tauri.conf.json`
 * (a test compares them). The preview server sends it too, so that browser tests meet the same limits.
 */
export const CSP =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src ipc: http://ipc.localhost; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
