// @vitest-environment jsdom
import { describe, expect, it } from 'vitest'
import { toSafeHtml } from './markdown'

const hostile = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '[x](javascript:alert(1))',
  '![x](https://example.com/pixel.png)',
  '<a href="https://example.com">x</a>',
  '<svg onload=alert(1)>',
  '<iframe src="https://example.com"></iframe>',
  '`<b onmouseover=alert(1)>`',
  '<style>*{display:none}</style>',
  '<form action=x><input name=y></form>',
  '# <img src=x>',
  '| a |\n|---|\n| <img src=x onerror=y> |',
  '[a](<x" onclick="alert(1)>)',
]

describe('toSafeHtml', () => {
  it.each(hostile)('makes nothing live of %j', (text) => {
    const page = document.createElement('div')
    page.innerHTML = toSafeHtml(text)
    expect(page.querySelectorAll('script, img, a, svg, iframe, style, form, input, object, link')).toHaveLength(0)
    for (const element of page.querySelectorAll('*')) expect(element.getAttributeNames()).toEqual([])
  })

  it('shows raw HTML as the text it is', () => {
    const page = document.createElement('div')
    page.innerHTML = toSafeHtml('use <b>bold</b> here')
    expect(page.textContent?.trim()).toBe('use <b>bold</b> here')
  })

  it('says where a link leads and where an image is', () => {
    const page = document.createElement('div')
    page.innerHTML = toSafeHtml(
      '[the guide](https://example.com/x) ![logo](https://example.com/y.png) <https://example.com/z>',
    )
    expect(page.textContent?.trim()).toBe(
      'the guide https://example.com/x logo https://example.com/y.png https://example.com/z',
    )
  })

  it('keeps emphasis, code and lists, and lets no heading into the outline', () => {
    expect(toSafeHtml('# Title\n\n**a** `b`\n\n- c')).toBe(
      '<p><strong>Title</strong></p><p><strong>a</strong> <code>b</code></p>\n<ul>\n<li>c</li>\n</ul>\n',
    )
  })

  it('shows a huge body as text', () => {
    expect(toSafeHtml('*'.repeat(70_000))).toMatch(/^<pre>\*/)
  })
})
