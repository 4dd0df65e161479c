/** Lines of a given width. */

/** Breaks text at spaces, words that are wider than a line after hyphens, commas and slashes, else anywhere; never wider than `width`. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  const words = text.split(/(?<=\s)/);
  const pieces = words.flatMap((word) =>
    word.trimEnd().length > width ? word.split(/(?<=[-,/])(?=\S)/) : [word],
  );
  for (let piece of pieces) {
    if ((line + piece.trimEnd()).length > width && line !== '') {
      lines.push(line.trimEnd());
      line = '';
    }
    while (piece.trimEnd().length > width) {
      lines.push(piece.slice(0, width));
      piece = piece.slice(width);
    }
    line += piece;
  }
  if (line.trimEnd() !== '') lines.push(line.trimEnd());
  return lines;
}

/** A command at the end of a sentence, as in `to go on: qualify resume RUN`. */
const COMMAND = /(?<=: )(?:qualify|git|npm|npx|node|sudo|apt-get|cmake|gh) \S[^\n]*$/;

/** Breaks text between words and nowhere else, for what is copied: a path, a code span and a command at the end stay whole, however wide. */
export function wrapWhole(text: string, width: number): string[] {
  const [command] = COMMAND.exec(text) ?? [];
  const said = command === undefined ? text : text.slice(0, -command.length);
  const words = [
    ...(said.match(/\s*(?:`[^`]*`\S*|\S+)/g) ?? []),
    ...(command === undefined ? [] : [` ${command}`]),
  ];
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(word);
    else if (last.length + word.length <= width) lines[lines.length - 1] = last + word;
    else lines.push(word.trimStart());
  }
  return lines;
}

/** `label  text`, wrapped, with the text in a column of its own; a label that reaches into it has a line to itself. */
export function labelled(label: string, text: string, labelWidth: number, width: number): string[] {
  const indent = ' '.repeat(labelWidth);
  const lines = wrap(text, width - labelWidth);
  if (label.length >= labelWidth) return [label, ...lines.map((line) => indent + line)];
  return lines.map((line, index) => (index === 0 ? label.padEnd(labelWidth) : indent) + line);
}
