import DOMPurify from 'dompurify'
import { Marked, type Tokens } from 'marked'

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => ESCAPES[mark] ?? mark)
}

/**
 * Findings are text that a stranger or a model wrote. Raw HTML is shown as text, links and images as
 * what they say and where they lead (nothing is fetched, nothing can be clicked), and what comes out
 * passes an allow-list once more.
 */
const marked = new Marked({
  gfm: true,
  breaks: false,
  renderer: {
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escape(text),
    image: ({ text, href }: Tokens.Image) => `${escape(text)} <code>${escape(href)}</code>`,
    link(link: Tokens.Link) {
      const text = this.parser.parseInline(link.tokens)
      return link.text === link.href ? `<code>${escape(link.href)}</code>` : `${text} <code>${escape(link.href)}</code>`
    },
    // A heading inside a finding must not enter the outline of the page.
    heading(heading: Tokens.Heading) {
      return `<p><strong>${this.parser.parseInline(heading.tokens)}</strong></p>`
    },
    checkbox: () => '',
  },
})

const ALLOWED_TAGS = [
  'p',
  'br',
  'strong',
  'em',
  'del',
  'code',
  'pre',
  'ul',
  'ol',
  'li',
  'blockquote',
  'hr',
  'table',
  'thead',
  'tbody',
  'tr',
  'th',
  'td',
]

/** Longest body that is rendered as Markdown; above it the text is shown as it is. 64 KiB. */
const MAX_CHARS = 64 * 1024

/** Markdown as HTML that can do nothing but show text. */
export function toSafeHtml(markdown: string): string {
  const html = markdown.length > MAX_CHARS ? `<pre>${escape(markdown)}</pre>` : marked.parse(markdown, { async: false })
  return DOMPurify.sanitize(html, { ALLOWED_TAGS, ALLOWED_ATTR: [], KEEP_CONTENT: true })
}
