import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CSP } from '../../csp'
import { COMMANDS, SHELL_EVENTS } from '../../src/lib/backend/commands'

const UI = new URL('../../', import.meta.url).pathname

function sources(under: string): string[] {
  return readdirSync(join(UI, under), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|svelte|css)$/.test(name) && !name.includes('generated') && !name.endsWith('.test.ts'))
    .map((name) => join(under, name))
}

const read = (name: string) => readFileSync(join(UI, name), 'utf8')

describe('the source', () => {
  it('reaches the shell through one file', () => {
    const found = sources('src').filter((name) => read(name).includes('@tauri-apps/'))
    expect(found).toEqual(['src/lib/backend/tauri.ts'])
  })

  it('has one endless animation, in steps', () => {
    const found = sources('src').flatMap(
      (name) =>
        read(name)
          .match(/animation(?:-iteration-count)?:[^;]*infinite/g)
          ?.map((text) => `${name}: ${text}`) ?? [],
    )
    expect(found).toEqual(['src/lib/ui/Glyph.svelte: animation: turn 1.8s steps(6) infinite'])
  })

  it('uses every command and every event of the shell, each once', () => {
    const tauri = read('src/lib/backend/tauri.ts')
    for (const name of [...COMMANDS, ...SHELL_EVENTS])
      expect(tauri.match(new RegExp(`\\b(?:call|hear)(?:<[^(]*>)?\\('${name}'`, 'g')), name).toHaveLength(1)
    expect(new Set(COMMANDS).size).toBe(COMMANDS.length)
  })

  it('has no inline script or style in the page, which would void the content policy', () => {
    expect(read('index.html')).not.toMatch(/<style|<script(?![^>]*\bsrc=)|\sstyle=|\son[a-z]+=/)
  })

  it('renders HTML in one component only', () => {
    expect(sources('src').filter((name) => read(name).includes('{@html'))).toEqual(['src/lib/ui/Markdown.svelte'])
  })

  const conf = join(UI, '../src-tauri/tauri.conf.json')
  it.runIf(existsSync(conf))('serves its tests under the content policy of the shipped window', () => {
    const { app } = JSON.parse(readFileSync(conf, 'utf8')) as { app: { security: { csp: string } } }
    expect(app.security.csp).toBe(CSP)
  })
})

/** Relative luminance and contrast as WCAG 2.2 defines them. */
function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const share = parseInt(hex.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(a: string, b: string): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x)
  return (light + 0.05) / (dark + 0.05)
}

describe('the palette', () => {
  const css = read('src/styles/tokens.css')
  const [darkPart = '', lightPart = ''] = css.split('@media (prefers-color-scheme: light)')
  const tokens = (text: string) =>
    Object.fromEntries([...text.matchAll(/--([a-z0-9-]+):\s*(#[0-9a-f]{6});/g)].map(([, name, hex]) => [name, hex]))

  for (const [scheme, part] of [
    ['dark', darkPart],
    ['light', lightPart],
  ] as const) {
    const t = tokens(part) as Record<string, string>
    const grounds = ['bg0', 'bg1', 'bg2', 'bg3', 'bg4']

    it(`holds 4.5:1 for every text colour on every ground it stands on, ${scheme}`, () => {
      const bad: string[] = []
      for (const text of ['text1', 'text2', 'text3', 'accent', 'wait', 'retry', 'ok', 'fail', 'recover', 'idle'])
        for (const ground of grounds) {
          if (text === 'text3' && ground === 'bg4') continue
          const ratio = contrast(t[text] ?? '', t[ground] ?? '')
          if (!(ratio >= 4.5)) bad.push(`${text} on ${ground}: ${ratio.toFixed(2)}`)
        }
      expect(bad).toEqual([])
    })

    it(`holds 4.5:1 on buttons and 3:1 for edges that carry meaning, ${scheme}`, () => {
      expect(contrast(t.primary ?? '', t['primary-text'] ?? '')).toBeGreaterThan(4.5)
      expect(contrast(t.danger ?? '', t['danger-text'] ?? '')).toBeGreaterThan(4.5)
      for (const ground of grounds.slice(0, 4))
        expect(contrast(t.ctl ?? '', t[ground] ?? ''), ground).toBeGreaterThanOrEqual(3)
    })
  }
})
