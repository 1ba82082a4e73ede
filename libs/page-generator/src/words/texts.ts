import { Random } from '@ui-rl/random';
import {
  ADJECTIVES,
  FIELD_NAMES,
  FIRST_NAMES,
  LABELS,
  LAST_NAMES,
  LITTLE_WORDS,
  NOUNS,
  PLACES,
  VERBS,
} from './lists';

const ONSETS =
  'b bl br c ch cl cr d dr f fl fr g gl gr h j k kl l m n p pl pr qu r s sh sk sl sn sp st t th tr v w y z'.split(
    ' ',
  );
const VOWELS = 'a e i o u a e i o ai ea ee oa oo ou ay'.split(' ');
const CODAS = ['', '', '', 'n', 'r', 's', 't', 'l', 'm', 'd', 'k', 'p', 'x', 'ck', 'nd', 'ng', 'rt', 'st'];
const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const DAYS = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ');
const SYMBOLS = '€£¥°×–…’“”•✓→←↑↓★éüñöäåçß©®™½'.split('');

/** The texts of one page: words, names, numbers, dates and random strings, from one random sequence. */
export class Texts {
  private readonly used = new Set<string>();

  constructor(readonly random: Random) {}

  /** An integer from `low` to `high`, both included. */
  number(low: number, high: number): number {
    return low + this.random.below(high - low + 1);
  }

  /** A text of `make` that this page does not contain yet, if found within a few attempts. */
  fresh(make: () => string): string {
    let text = make();
    for (let i = 0; i < 6 && this.used.has(text.toLowerCase()); i++) text = make();
    this.used.add(text.toLowerCase());
    return text;
  }

  /** The requested number of distinct texts. */
  several(count: number, make: () => string): string[] {
    return Array.from({ length: count }, () => this.fresh(make));
  }

  word(): string {
    const draw = this.random.next();
    if (draw < 0.4) return this.random.pick(NOUNS);
    if (draw < 0.55) return this.random.pick(ADJECTIVES);
    if (draw < 0.7) return this.random.pick(VERBS);
    if (draw < 0.8) return this.random.pick(LITTLE_WORDS);
    return this.invented();
  }

  /** A pronounceable word of one to three syllables. */
  invented(): string {
    return Array.from(
      { length: this.number(1, 3) },
      () => this.random.pick(ONSETS) + this.random.pick(VOWELS) + this.random.pick(CODAS),
    ).join('');
  }

  /** Printable ASCII characters without spaces, uniformly distributed. */
  nonsense(length = this.number(2, 10)): string {
    return Array.from({ length }, () => String.fromCharCode(this.number(33, 126))).join('');
  }

  /** Letters and digits, like an order or product number. */
  code(): string {
    const alphabet = this.random.pick([
      '0123456789',
      'ABCDEFGHJKLMNPQRSTUVWXYZ0123456789',
      'abcdef0123456789',
    ]);
    const text = Array.from({ length: this.number(3, 8) }, () => this.random.pick(alphabet.split(''))).join(
      '',
    );
    return this.random.pick(['', '', '#', 'No. ', 'ID-', 'v']) + text;
  }

  personName(): string {
    const first = this.random.pick(FIRST_NAMES);
    const last = this.random.pick(LAST_NAMES);
    return this.random.pick([
      first,
      `${first} ${last}`,
      `${first} ${last}`,
      `${last}, ${first}`,
      `${first[0]}. ${last}`,
    ]);
  }

  place(): string {
    return this.random.pick(PLACES);
  }

  amount(): string {
    const whole = this.number(0, this.random.pick([9, 99, 999, 9999]));
    const cents = String(this.number(0, 99)).padStart(2, '0');
    return this.random.pick([
      `$${whole}.${cents}`,
      `$${whole.toLocaleString('en-US')}`,
      `€${whole},${cents}`,
      `£${whole}.${cents}`,
      `${whole}.${cents} USD`,
      `${whole} kr`,
    ]);
  }

  quantity(): string {
    const whole = this.number(0, this.random.pick([9, 99, 999, 99_999]));
    const unit = this.random.pick([
      '%',
      ' km',
      ' kg',
      ' cm',
      ' MB',
      ' GB',
      ' px',
      ' h',
      ' min',
      '°',
      ' pcs',
      'x',
    ]);
    return this.random.pick([
      String(whole),
      String(whole),
      `${whole}${unit}`,
      `${whole / 10}`,
      `-${whole}`,
      `+${whole}`,
    ]);
  }

  date(): string {
    const [day, month, year] = [this.number(1, 28), this.number(1, 12), this.number(1975, 2039)];
    const name = MONTHS[month - 1];
    const two = (value: number): string => String(value).padStart(2, '0');
    return this.random.pick([
      `${year}-${two(month)}-${two(day)}`,
      `${two(day)}/${two(month)}/${year}`,
      `${month}/${day}/${year % 100}`,
      `${two(day)}.${two(month)}.${year}`,
      `${day} ${name.slice(0, 3)} ${year}`,
      `${name} ${day}`,
      `${name.slice(0, 3)} ${day}, ${year}`,
      this.random.pick(DAYS),
      `${this.random.pick(DAYS).slice(0, 3)} ${day} ${name.slice(0, 3)}`,
    ]);
  }

  time(): string {
    const minutes = String(this.number(0, 59)).padStart(2, '0');
    return this.random.pick([
      `${this.number(0, 23)}:${minutes}`,
      `${this.number(1, 12)}:${minutes} ${this.random.pick(['AM', 'PM'])}`,
    ]);
  }

  email(): string {
    const user = this.random.pick([
      this.invented(),
      this.random.pick(FIRST_NAMES).toLowerCase(),
      this.random.pick(NOUNS),
    ]);
    return `${user}@${this.random.pick([this.invented(), this.random.pick(NOUNS)])}.${this.random.pick(['com', 'org', 'net', 'io', 'de', 'co'])}`;
  }

  phone(): string {
    const digits = (count: number): string => Array.from({ length: count }, () => this.number(0, 9)).join('');
    return this.random.pick([
      `${digits(3)}-${digits(4)}`,
      `(${digits(3)}) ${digits(3)}-${digits(4)}`,
      `+${digits(2)} ${digits(3)} ${digits(5)}`,
    ]);
  }

  address(): string {
    return this.random.pick([
      `www.${this.invented()}.com`,
      `${this.invented()}.org/${this.word()}`,
      `/home/${this.word()}/${this.word()}.txt`,
    ]);
  }

  /** A value for a field or a table cell. */
  value(): string {
    const draw = this.random.next();
    if (draw < 0.16) return this.personName();
    if (draw < 0.26) return this.quantity();
    if (draw < 0.36) return this.amount();
    if (draw < 0.46) return this.date();
    if (draw < 0.52) return this.time();
    if (draw < 0.6) return this.place();
    if (draw < 0.66) return this.code();
    if (draw < 0.71) return this.email();
    if (draw < 0.74) return this.phone();
    if (draw < 0.77) return this.address();
    if (draw < 0.87) return this.nonsense();
    return this.cased(this.phrase(this.number(1, 3)));
  }

  phrase(words: number): string {
    return Array.from({ length: words }, () => this.word()).join(' ');
  }

  /** In a random letter case that labels use. */
  cased(text: string): string {
    const title = (each: string): string => each.charAt(0).toUpperCase() + each.slice(1);
    const draw = this.random.next();
    if (draw < 0.4) return title(text);
    if (draw < 0.7) return text.split(' ').map(title).join(' ');
    if (draw < 0.85) return text;
    return text.toUpperCase();
  }

  /** The text of a button, link, tab or option. */
  label(): string {
    const draw = this.random.next();
    if (draw < 0.35)
      return this.random.chance(0.85) ? this.random.pick(LABELS) : this.random.pick(LABELS).toUpperCase();
    if (draw < 0.6) return this.cased(this.phrase(1));
    if (draw < 0.75) return this.cased(this.phrase(2));
    if (draw < 0.82) return this.cased(this.invented());
    if (draw < 0.9) return this.value();
    if (draw < 0.93) return this.random.pick(SYMBOLS) + this.random.pick(['', ` ${this.word()}`]);
    return this.nonsense(this.number(1, 9));
  }

  fieldName(): string {
    if (this.random.chance(0.6)) return this.random.pick(FIELD_NAMES);
    return this.cased(this.phrase(this.number(1, 2)));
  }

  title(): string {
    const draw = this.random.next();
    if (draw < 0.25) return this.random.pick(LABELS);
    if (draw < 0.85) return this.cased(this.phrase(this.number(1, 3)));
    return draw < 0.93 ? this.personName() : this.value();
  }

  sentence(words = this.number(3, 12)): string {
    const parts = Array.from({ length: words }, () =>
      this.random.chance(0.06) ? this.value() : this.random.chance(0.03) ? this.nonsense() : this.word(),
    );
    const joined = parts
      .map((part, i) =>
        i < words - 1 && this.random.chance(0.07)
          ? `${part}${this.random.pick([',', ',', ';', ':', ' -'])}`
          : part,
      )
      .join(' ');
    return (
      joined.charAt(0).toUpperCase() + joined.slice(1) + this.random.pick(['.', '.', '.', '.', '!', '?', ''])
    );
  }

  paragraph(sentences: number): string {
    return Array.from({ length: sentences }, () => this.sentence()).join(' ');
  }
}
