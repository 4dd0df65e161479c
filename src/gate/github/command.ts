/** Workflow commands (`::error title=…::…`): what a runner reads out of the output of a step. */
import { plainText } from '../../report/escape.js';

/** What a command says, as the runner unescapes it. Nothing in it can end the line or begin a command of its own. */
export const commandText = (text: string): string =>
  plainText(text).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

/** A property's value: it also ends at a colon or a comma. */
export const commandProperty = (text: string): string =>
  commandText(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

export type Level = 'error' | 'warning' | 'notice';

/** One annotation as a line of output. */
export const annotationLine = (level: Level, title: string, message: string): string =>
  `::${level} title=${commandProperty(title)}::${commandText(message)}`;
