/** Whether this build carries the pretend engine (see `vite.config.ts`). */
declare const __PRETEND_ENGINE__: boolean
