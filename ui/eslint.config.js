import globals from 'globals'
import svelte from 'eslint-plugin-svelte'
import ts from 'typescript-eslint'
import svelteConfig from './svelte.config.js'

export default ts.config(
  { ignores: ['dist', 'dist-browser', 'node_modules', 'src/lib/generated', 'test-results'] },
  ...ts.configs.recommended,
  ...svelte.configs.recommended,
  {
    languageOptions: { globals: { ...globals.browser, ...globals.node } },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-console': 'error',
      'no-eval': 'error',
      eqeqeq: 'error',
      // TypeScript knows better what is defined.
      'no-undef': 'off',
      // State is replaced, not changed in place: plain collections behind `$state.raw` are meant.
      'svelte/prefer-svelte-reactivity': 'off',
    },
  },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: ts.parser, extraFileExtensions: ['.svelte'], svelteConfig } },
  },
  {
    // The shell is reached through one folder, so that the window runs in a plain browser too.
    files: ['src/**'],
    ignores: ['src/lib/backend/**'],
    rules: { 'no-restricted-imports': ['error', { patterns: ['@tauri-apps/*'] }] },
  },
)
