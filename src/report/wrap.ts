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

/** `label  text`, wrapped, with the text in a column of its own; a label that reaches into it has a line to itself. */
export function labelled(label: string, text: string, labelWidth: number, width: number): string[] {
  const indent = ' '.repeat(labelWidth);
  const lines = wrap(text, width - labelWidth);
  if (label.length >= labelWidth) return [label, ...lines.map((line) => indent + line)];
  return lines.map((line, index) => (index === 0 ? label.padEnd(labelWidth) : indent) + line);
}
