// The vocabulary of the models that read and write English.

const END_OF_TEXT = 0;
const BLANK = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const LETTER = "\\p{L}\\p{N}_"; // what \s and \w are in Python
const WORD = new RegExp(
  ` ?[${LETTER}]+| ?[^${LETTER}${BLANK}]+|[${BLANK}]+(?![^${BLANK}])|[${BLANK}]+`,
  "gu",
);

// utils.byte_pairs.BytePairs. A piece is a string whose letters are bytes, 0 to 255.
class BytePairs {
  constructor(merges) {
    const bytes = Array.from({ length: 256 }, (_, byte) => byte);
    const printed = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    const ordered = [...bytes.filter(printed), ...bytes.filter((byte) => !printed(byte))];
    this.pieces = ["", ...ordered.map((byte) => String.fromCharCode(byte))];
    this.ids = new Map(this.pieces.map((piece, id) => [piece, id]));
    this.ranks = new Map();
    merges.forEach(([first, second], rank) => {
      const piece = this.pieces[first] + this.pieces[second];
      this.ranks.set(this.pair(first, second), rank);
      if (this.ids.has(piece)) return;
      this.ids.set(piece, this.pieces.length);
      this.pieces.push(piece);
    });
  }
  pair(first, second) {
    return first * 2 ** 24 + second;
  }
  encode(text) {
    return (text.match(WORD) ?? []).flatMap((word) => this.encodeWord(word));
  }
  // The pair that was learnt first is merged first, wherever it stands.
  encodeWord(word) {
    const bytes = [...new TextEncoder().encode(word)];
    let ids = bytes.map((byte) => this.ids.get(String.fromCharCode(byte)));
    for (;;) {
      let [lowest, at] = [Infinity, 0];
      for (let i = 1; i < ids.length; i++) {
        const rank = this.ranks.get(this.pair(ids[i - 1], ids[i])) ?? Infinity;
        if (rank < lowest) [lowest, at] = [rank, i];
      }
      if (!at) return ids;
      const [first, second] = [ids[at - 1], ids[at]];
      const both = this.ids.get(this.pieces[first] + this.pieces[second]);
      const merged = [];
      for (const id of ids)
        if (id === second && merged.at(-1) === first) merged[merged.length - 1] = both;
        else merged.push(id);
      ids = merged;
    }
  }
  // A letter of several tokens is given with its last one; what is no UTF-8 becomes U+FFFD.
  decode(ids, stream = false) {
    const letters = ids.map((id) => this.pieces[id]).join("");
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream });
  }
  // How the table calls a token.
  name(id) {
    if (id === END_OF_TEXT) return "end of text";
    const signs = { " ": "·", "\n": "⏎", "\t": "⇥" };
    const text = this.decode([id]).replace(/[ \n\t]/g, (sign) => signs[sign]);
    if (!/[\ufffd\p{C}\p{Z}]/u.test(text)) return text;
    const bytes = [...this.pieces[id]].map((byte) => byte.charCodeAt(0).toString(16));
    return `bytes ${bytes.map((byte) => byte.padStart(2, "0")).join(" ")}`;
  }
}
