import type { ErrorDto } from '../generated/ErrorDto'

/** An error from the other side: what was wrong, what is on disk now, what to do. */
export class Failure extends Error {
  readonly code: string
  readonly diskEffect: string
  readonly fix: readonly string[]

  constructor(dto: ErrorDto) {
    super(dto.message)
    this.name = 'Failure'
    this.code = dto.code
    this.diskEffect = dto.disk_effect
    this.fix = dto.fix
  }
}

function isErrorDto(value: unknown): value is ErrorDto {
  if (typeof value !== 'object' || value === null) return false
  const dto = value as Record<string, unknown>
  return typeof dto.code === 'string' && typeof dto.message === 'string'
}

/** Whatever was thrown, as a `Failure`. */
export function asFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown
  if (isErrorDto(thrown))
    return new Failure({
      code: thrown.code,
      message: thrown.message,
      disk_effect: typeof thrown.disk_effect === 'string' ? thrown.disk_effect : '',
      fix: Array.isArray(thrown.fix) ? thrown.fix.filter((line) => typeof line === 'string') : [],
    })
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new Failure({ code: 'unexpected', message, disk_effect: '', fix: [] })
}
