// Renders the SVG sources beside this file to what the bundle and the tray need.
// Needs `rsvg-convert` (Debian: librsvg2-bin). Run by `make icons`; the results are committed.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const work = mkdtempSync(join(tmpdir(), 'sidetrack-icons-'))

const render = (svg, size) =>
  execFileSync('rsvg-convert', ['--width', String(size), '--height', String(size), '--format', 'png', svg], { maxBuffer: 1 << 26 })

/** An .ico container: a directory of PNG images (allowed since Windows Vista). */
function ico(images) {
  const header = Buffer.alloc(6 + 16 * images.length)
  header.writeUInt16LE(1, 2)
  header.writeUInt16LE(images.length, 4)
  let offset = header.length
  images.forEach(({ size, png }, index) => {
    const at = 6 + 16 * index
    header.writeUInt8(size % 256, at)
    header.writeUInt8(size % 256, at + 1)
    header.writeUInt16LE(1, at + 4)
    header.writeUInt16LE(32, at + 6)
    header.writeUInt32LE(png.length, at + 8)
    header.writeUInt32LE(offset, at + 12)
    offset += png.length
  })
  return Buffer.concat([header, ...images.map(({ png }) => png)])
}

/** An .icns container: typed chunks of PNG images. */
function icns(chunks) {
  const body = Buffer.concat(
    chunks.flatMap(({ type, png }) => {
      const head = Buffer.alloc(8)
      head.write(type, 0, 'latin1')
      head.writeUInt32BE(png.length + 8, 4)
      return [head, png]
    })
  )
  const head = Buffer.alloc(8)
  head.write('icns', 0, 'latin1')
  head.writeUInt32BE(body.length + 8, 4)
  return Buffer.concat([head, body])
}

try {
  const app = join(here, 'src', 'app.svg')
  const png = (size) => render(app, size)
  for (const [name, size] of [['32x32', 32], ['64x64', 64], ['128x128', 128], ['128x128@2x', 256], ['icon', 512]]) {
    writeFileSync(join(here, `${name}.png`), png(size))
  }
  writeFileSync(join(here, 'icon.ico'), ico([16, 24, 32, 48, 64, 256].map((size) => ({ size, png: png(size) }))))
  writeFileSync(
    join(here, 'icon.icns'),
    icns([['icp4', 16], ['icp5', 32], ['ic07', 128], ['ic08', 256], ['ic09', 512], ['ic10', 1024]].map(([type, size]) => ({ type, png: png(size) })))
  )

  const tray = readFileSync(join(here, 'src', 'tray.svg'), 'utf8')
  const dot = (colour) => `<circle cx="37" cy="37" r="11" fill="#14171C"/><circle cx="37" cy="37" r="8" fill="${colour}"/>`
  for (const [name, mark] of [['idle', ''], ['busy', dot('#6AA5FF')], ['alert', dot('#FF9552')]]) {
    const svg = join(work, `${name}.svg`)
    writeFileSync(svg, tray.replace('</svg>', `${mark}</svg>`))
    writeFileSync(join(here, `tray-${name}.png`), render(svg, 48))
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}
