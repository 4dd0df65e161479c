/**
 * The colours of the page, by name, in light and in dark. Charts name them as `var(--name)`, which follows the reader's setting
 * without a second drawing. Arms have the hues of Okabe and Ito, which colour-blind readers tell apart, and a shape and a dash besides.
 */

const light = {
  page: '#ffffff',
  panel: '#f5f6f8',
  text: '#16191d',
  muted: '#555d66',
  rule: '#d5d9de',
  line: '#7b838c',
  link: '#0b57a4',
  pass: '#0f6b2f',
  fail: '#b3261e',
  open: '#7a5200',
  refused: '#67399f',
  'arm-0': '#0067a8',
  'arm-1': '#b04a00',
  'arm-2': '#00735a',
  'arm-3': '#9c3d74',
  'arm-4': '#56606b',
  'arm-5': '#756300',
};

const dark: Record<Colour, string> = {
  page: '#101317',
  panel: '#191d23',
  text: '#e8ebef',
  muted: '#a6afb9',
  rule: '#333a43',
  line: '#7f8893',
  link: '#7db8f0',
  pass: '#5ed48a',
  fail: '#ff8a80',
  open: '#e8b64c',
  refused: '#c9a6f5',
  'arm-0': '#5cb8ee',
  'arm-1': '#f5a04e',
  'arm-2': '#45cca6',
  'arm-3': '#e69ac8',
  'arm-4': '#b3bcc6',
  'arm-5': '#dcc651',
};

type Colour = keyof typeof light;

/** Every colour in both settings. */
export const palettes: Readonly<Record<'light' | 'dark', Readonly<Record<Colour, string>>>> = { light, dark };

/** The declarations of one palette. */
export const declarations = (setting: keyof typeof palettes): string =>
  Object.entries(palettes[setting])
    .map(([name, value]) => `--${name}:${value};`)
    .join('');

/** A colour as charts and styles name it. */
export const colour = (name: Colour): string => `var(--${name})`;

const armColours = ['arm-0', 'arm-1', 'arm-2', 'arm-3', 'arm-4', 'arm-5'] as const;
const armShapes = ['circle', 'square', 'triangle-up', 'diamond', 'cross', 'triangle-down'] as const;
const armDashes = [[], [6, 3], [2, 2], [8, 2, 2, 2], [1, 3], [10, 4]] as const;

/** How an arm is drawn: a colour, and what tells it from others without one. Beyond six they begin again. */
export interface ArmLook {
  colour: string;
  shape: (typeof armShapes)[number];
  /** Lengths of dash and gap; empty for a solid line. */
  dash: readonly number[];
}

/** The look of the arm at a place in the plan; the reference is 0. */
export function armLook(index: number): ArmLook {
  const at = Math.max(0, index) % armColours.length;
  return {
    colour: colour(armColours[at] ?? 'arm-0'),
    shape: armShapes[at] ?? 'circle',
    dash: armDashes[at] ?? [],
  };
}
