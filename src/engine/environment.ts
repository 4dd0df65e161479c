/** The environment of an engine. */

/** What it inherits. */
export const INHERITED = ['PATH', 'LANG'] as const;

/** All that reaches an engine: what it inherits, and its own empty folders. Everything else must be a switch of the arm. */
export const ENVIRONMENT_ALLOWED = [...INHERITED, 'HOME', 'TMPDIR'] as const;

/** Finds descendants that left the group. */
export const LAUNCH_VARIABLE = 'QUALIFY_LAUNCH';
