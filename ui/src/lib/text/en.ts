import { count, nth, plural } from './plural'
import { brief, type Countdown } from '../format/time'
import type { Filter, Group } from '../state/groups'
import type { Look } from '../tasks/look'

const files = { one: 'file', other: 'files' }
const findings = { one: 'finding', other: 'findings' }
const lines = { one: 'line', other: 'lines' }

const severities: Record<string, string> = { high: 'High', medium: 'Medium', low: 'Low', info: 'Info' }
const coverage: Record<string, string> = {
  reviewed: 'Reviewed',
  partial: 'In part',
  skipped: 'Skipped',
  failed: 'Not reviewed',
}
const kinds: Record<string, string> = {
  patch: 'Patch',
  repository: 'Git repository',
  folder: 'Folder',
  link: 'Pull request',
  text: 'Pasted patch',
  range: 'Range of commits',
  branch: 'Branch',
}
const runners: Record<string, string> = { rules: 'Built-in rules' }

function when(left: Countdown): string {
  switch (left.kind) {
    case 'due':
      return 'any moment now'
    case 'in':
      return `in ${brief(left.ms)}`
    case 'at':
      return `at ${left.clock}`
  }
}

/** Every text of the UI in English. Sentence case, verb and object on buttons, numbers first, the disk effect always said. */
export const t = {
  product: 'Sidetrack',
  noShell: 'Open this page in the Sidetrack app. A browser alone has no engine to talk to.',

  topbar: {
    find: 'Find a task or run a command',
    needsYou: (n: number) => `${count(n)} ${n === 1 ? 'needs' : 'need'} you`,
    newReview: 'New review',
  },

  state: {
    queued: 'Queued',
    waiting: 'Waiting',
    running: 'Running',
    throttled: 'Rate limited',
    stopping: 'Stopping',
    retrying: 'Retrying',
    rolling_back: 'Rolling back',
    done: 'Done',
    partial: 'Partial',
    failed: 'Failed',
    cancelled: 'Cancelled',
    needs_recovery: 'Needs recovery',
  } satisfies Record<Look, string>,

  sidebar: {
    label: 'Tasks',
    filter: 'Show',
    resize: 'Width of the task list',
    more: 'Older tasks are kept but not shown. `sidetrack list` shows them.',
    groups: {
      needs_you: 'Needs you',
      running: 'Running',
      waiting: 'Waiting',
      today: 'Finished today',
      earlier: 'Earlier',
    } satisfies Record<Group, string>,
    filters: { all: 'All', needs_you: 'Needs you', active: 'Active', done: 'Done' } satisfies Record<Filter, string>,
    nothing: {
      all: 'No tasks yet.',
      needs_you: 'Nothing needs you.',
      active: 'Nothing is running or waiting.',
      done: 'Nothing has finished yet.',
    } satisfies Record<Filter, string>,
  },

  row: {
    label: (title: string, state: string, reason: string, unread: boolean) =>
      [title, state, reason, unread && 'new'].filter(Boolean).join(', '),
    pinning: 'Freezing the content',
    reporting: 'Writing the report',
    starting: 'Starting',
    reviewing: (file: string) => `Reviewing ${file}`,
    attempt: (n: number, of: number) => `attempt ${n} of ${of}`,
    try: (n: number, of: number) => `try ${n} of ${of}`,
    heldBy: (resource: string, holder: string) => `${resource} held by ${holder}`,
    noFindings: 'No findings',
    findings: (n: number) => plural(n, findings),
    findingsWithHigh: (n: number, high: number) => `${plural(n, findings)} (${count(high)} high)`,
    reviewed: (n: number, of: number) => `${count(n)} of ${plural(of, files)} reviewed`,
    when,
    place: nth,
  },

  detail: {
    label: 'Task',
    number: (n: number) => `#${n}`,
    runner: (name: string) => runners[name] ?? name,
    queuedAt: (at: string) => `Queued ${at}`,
    started: (at: string) => `Started ${at}`,
    took: (length: string) => `took ${length}`,
    rerunOf: (n: number) => `again, after #${n}`,
    attempt: (n: number, of: number) => `Attempt ${n} of ${of}`,
    priority: { low: 'Low priority', normal: 'Normal priority', high: 'High priority' } as Record<string, string>,
    cancelReview: 'Cancel review',
    cancelTask: 'Cancel and roll back',
    stopping: 'Stopping…',
    stopNow: 'Stop now',
    runAgain: 'Run again',
    more: 'More actions',
    copyReport: 'Copy report',
    none: 'Select a task to see it here.',
    phases: {
      label: 'Phases',
      pin: 'Pin',
      review: 'Review',
      report: 'Report',
      doneSuffix: ', done',
      failedSuffix: ', stopped here',
    },
    filesOf: (done: number, total: number, unit: string) =>
      unit === 'files' || unit === ''
        ? `${count(done)} of ${plural(total, files)}`
        : `${count(done)} of ${count(total)} ${unit}`,
    filesDone: (done: number, unit: string) =>
      unit === 'files' || unit === '' ? plural(done, files) : `${count(done)} ${unit}`,
    silent: (length: string) => `No output for ${length}`,
    tabs: { label: 'Parts of this task', findings: 'Findings', coverage: 'Coverage', logs: 'Logs' },
    loadFailed: (message: string) => `This could not be loaded: ${message}`,
    tryAgain: 'Try again',
    loading: 'Loading…',
  },

  callout: {
    stopRetrying: 'Stop retrying',
    cancel: 'Cancel',
    moveUp: 'Raise priority',
    resume: 'Resume',
    showLog: 'Show log',
    showCoverage: 'Show coverage',
    runAgain: 'Run again',
    queued: 'Waiting for its turn.',
    paused: 'New tasks are paused. Nothing starts until you resume.',
    slots: (slots: number) => (slots === 1 ? 'The only slot is busy.' : `All ${count(slots)} slots are busy.`),
    place: (n: number) => `${nth(n)} in line.`,
    waitsFor: (resource: string, mode: string) =>
      mode === 'exclusive'
        ? `Waiting for ${resource} (write).`
        : mode === 'shared'
          ? `Waiting for ${resource} (read).`
          : `Waiting for ${resource}.`,
    heldBy: (holder: string) => `Held by ${holder}`,
    heldFor: (length: string) => `for ${length}`,
    retrying: 'The last attempt stopped.',
    nextAttempt: (n: number, of: number, left: Countdown) => `Attempt ${n} of ${of} starts ${when(left)}.`,
    throttled: 'Rate limited by the provider.',
    nextTry: (n: number, of: number, left: Countdown) => `Try ${n} of ${of} ${when(left)}.`,
    kept: 'Findings so far are kept.',
    stopping: 'Stopping.',
    stoppingHint: 'The task is said to be cancelled once every process of it has ended. You may close the window.',
    failed: 'The review failed.',
    partial: (n: number, reviewed: number, of: number) =>
      `${plural(n, findings)} from ${count(reviewed)} of ${plural(of, files)} ${n === 1 ? 'is' : 'are'} kept.`,
    partialTitle: 'Stopped early.',
    cancelled: 'Cancelled.',
    cancelledKept: (n: number) => (n === 0 ? 'Its log is kept.' : `${plural(n, findings)} and the log are kept.`),
    untouched: 'No files were changed.',
    needsRecovery: 'Rollback did not finish.',
    needsRecoveryHint: 'Nothing else writes to these files until you decide.',
    rollingBack: 'Putting back what the task changed.',
    silent: (length: string) => `No output for ${length}.`,
    silentHint: 'The engine has not heard from this task. It goes on until its time limit, or until you cancel it.',
  },

  findings: {
    heading: 'Findings',
    list: 'Findings of this task',
    severity: (name: string) => severities[name] ?? name,
    filter: 'Severities shown',
    still: 'Still reviewing. New findings appear here.',
    stillRetrying: 'The review goes on with the next attempt. New findings appear here.',
    noReview: 'This task reviews nothing. What it did is in its log.',
    fresh: (n: number) => `${count(n)} new`,
    copy: 'Copy comment',
    copied: 'Copied',
    copyPatch: 'Copy patch',
    suggestion: 'Suggested change',
    editor: 'Open in editor',
    removed: 'removed line',
    wholeFile: 'whole file',
    showAll: (n: number) => `Show all ${plural(n, lines)}`,
    showLess: 'Show less',
    known: 'Seen before',
    rule: (rule: string) => rule,
    confidence: (share: number) => `${Math.round(share * 100)} % sure`,
    none: 'No findings.',
    allReviewed: (n: number) => (n === 1 ? 'The only file was reviewed.' : `All ${plural(n, files)} were reviewed.`),
    allLookedAt: (reviewed: number, left: number) =>
      `${plural(reviewed, files)} reviewed, ${count(left)} left out by a stated rule.`,
    noneSoFar: 'No findings so far.',
    noneYet: 'Findings appear here while the review runs.',
    noneButNotAll: 'Nothing was found in what was reviewed, but not everything was.',
    notAllReviewed: (n: number, of: number) =>
      `${count(n)} of ${plural(of, files)} ${n === 1 ? 'was' : 'were'} reviewed.`,
    nothingKnown: 'It stopped before any file was reviewed.',
    filteredOut: (n: number) => `${plural(n, findings)} hidden by the filter.`,
    showEverything: 'Show all',
    limits: 'Rules check patterns, not logic.',
  },

  coverage: {
    heading: 'Coverage',
    table: 'What was done with each file',
    file: 'File',
    status: 'Status',
    reason: 'Reason',
    statusName: (name: string) => coverage[name] ?? name,
    all: 'All',
    filter: 'Files shown',
    search: 'Filter by name',
    none: 'No file has been looked at yet.',
    noMatch: 'No file matches.',
    summary: (reviewed: number, of: number) => `${count(reviewed)} of ${plural(of, files)} reviewed`,
    everything: 'Every changed line was looked at.',
  },

  logs: {
    heading: 'Logs',
    list: 'Log of this task',
    follow: 'Follow',
    find: 'Find in log',
    matches: (n: number, of: number) => (of === 0 ? 'No match' : `${count(n)} of ${count(of)}`),
    previous: 'Previous match',
    next: 'Next match',
    close: 'Close',
    copy: 'Copy log',
    lines: (n: number) => plural(n, lines),
    attempt: (n: number) => `Attempt ${n}`,
    attempts: 'Attempt shown',
    none: 'Nothing has been logged yet.',
    noAttempt: 'The log begins with the first attempt.',
  },

  drop: {
    title: 'Drop to review',
    hint: 'Folder, .patch or .diff file, or a pull request link',
    several: (n: number) =>
      `${plural(n, { one: 'item', other: 'items' })} → ${plural(n, { one: 'review', other: 'reviews' })}`,
    tooMany: (n: number, max: number) => `${count(n)} items are too many at once. Drop ${max} at most.`,
    bad: 'This can’t be reviewed',
    someBad: (n: number, of: number) => `${count(n)} of ${count(of)} can’t be reviewed`,
    looking: 'Looking…',
  },

  sheet: {
    title: 'New review',
    field: 'Path, pull request link, branch, or REPO@BASE..HEAD',
    add: 'Add',
    hint: 'Or paste a patch here, or drop it anywhere.',
    browseFile: 'Browse file…',
    browseFolder: 'Browse folder…',
    items: 'To be reviewed',
    remove: (label: string) => `Remove ${label}`,
    kind: (kind: string | null) => (kind === null ? 'Can’t be reviewed' : (kinds[kind] ?? kind)),
    start: (n: number) => (n > 1 ? `Start ${count(n)} reviews` : 'Start review'),
    cancel: 'Cancel',
    close: 'Close',
    pasted: 'Pasted patch',
    pastedSummary: (n: number, added: number, removed: number) =>
      `${plural(n, files)}, +${count(added)} −${count(removed)}`,
    tooMany: (max: number) => `${max} reviews at once is the limit. Start these first.`,
    twice: 'That is in the list already.',
    empty: 'Nothing to review yet.',
    runner: 'Runner',
    rules: 'Built-in rules',
    limits: 'Rules check patterns, not logic. No key, no network.',
    writes: 'A review writes no files.',
    wrong: 'Take out what can’t be reviewed, or give it another way.',
  },

  empty: {
    title: 'Review a change in the background',
    sentence: 'Drop a patch or folder, or paste a pull request link.',
    newReview: 'New review',
    sample: 'Try a sample patch',
    limits: 'Rules check patterns, not logic. No key, no network.',
    checks: 'This machine',
    ok: 'ready',
    notOk: 'not ready',
    allChecks: 'All checks',
  },

  status: {
    connecting: 'Connecting',
    ready: 'Engine ready',
    paused: 'Paused',
    stopping: 'Engine is ending',
    lost: 'Engine not running',
    slots: (used: number, of: number) => `${count(used)} of ${plural(of, { one: 'slot', other: 'slots' })} in use`,
    waiting: (n: number) => `${count(n)} waiting`,
    move: 'move',
    shortcuts: 'shortcuts',
    label: 'Engine',
  },

  banner: {
    lost: 'Engine is not running. Starting…',
    lostHint: 'Tasks are kept. A task that was running starts over when the engine is back.',
    retry: 'Try now',
    paused: 'New tasks are paused.',
    resume: 'Resume',
  },

  palette: {
    label: 'Find a task or run a command',
    tasks: 'Tasks',
    commands: 'Commands',
    none: 'Nothing matches.',
    browseFile: 'Review a file…',
    browseFolder: 'Review a folder…',
    sample: 'Try a sample patch',
    pause: 'Pause new tasks',
    resume: 'Resume paused tasks',
    notification: 'Send a test notification',
    checks: 'Check this machine',
    copyMarkdown: 'Copy report as Markdown',
    copySarif: 'Copy report as SARIF',
    copyJson: 'Copy report as JSON',
    shortcuts: 'Show shortcuts',
  },

  menu: {
    label: 'Task actions',
    open: 'Open',
    cancel: 'Cancel',
    runAgain: 'Run again',
    copyMarkdown: 'Copy report as Markdown',
    copySarif: 'Copy report as SARIF',
    copyJson: 'Copy report as JSON',
    copyNumber: 'Copy task number',
    raise: 'High priority',
    normal: 'Normal priority',
    lower: 'Low priority',
  },

  checks: {
    title: 'This machine',
    close: 'Close',
    again: 'Check again',
    list: 'Checks',
  },

  shortcuts: {
    title: 'Shortcuts',
    close: 'Close',
    rows: [
      ['Ctrl K', 'Find a task or run a command'],
      ['N', 'New review'],
      ['Ctrl V', 'Review what was copied'],
      ['J', 'Next task'],
      ['K', 'Previous task'],
      ['Enter', 'Open task'],
      ['1 – 3', 'Findings, coverage, logs'],
      ['[', 'Previous finding'],
      [']', 'Next finding'],
      ['C', 'Copy comment'],
      ['E', 'Open in editor'],
      ['F', 'Follow the log'],
      ['Ctrl F', 'Find in the log'],
      ['R', 'Run again'],
      ['Ctrl .', 'Cancel; again to stop now'],
      ['?', 'This list'],
      ['Esc', 'Close the top layer'],
    ] as ReadonlyArray<readonly [string, string]>,
  },

  toast: {
    region: 'Notices',
    dismiss: 'Dismiss',
    copied: 'Copied.',
    notCopied: 'The clipboard did not take it.',
    notification: 'Notification sent.',
    nothingPasted: 'Nothing in the clipboard can be reviewed. Copy a path, a pull request link or a patch.',
  },

  live: {
    queued: (n: number) => `${plural(n, { one: 'review', other: 'reviews' })} queued.`,
    moved: (title: string, state: string) => `${title}: ${state}.`,
    needsYou: (title: string) => `${title} needs you.`,
    progress: (line: string, progress: string) => [line, progress].filter(Boolean).join(', '),
  },
} as const
