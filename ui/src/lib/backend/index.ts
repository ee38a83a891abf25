import type { Backend } from './backend'

export type * from './backend'
export { Failure, asFailure } from './failure'

/** The world outside: the desktop shell, or in a test build without one the pretend engine. */
export async function connect(): Promise<Backend | null> {
  if ('__TAURI_INTERNALS__' in window) return (await import('./tauri')).tauriBackend()
  if (__PRETEND_ENGINE__) return (await import('./fake')).fakeBackend(new URLSearchParams(location.search))
  return null
}
