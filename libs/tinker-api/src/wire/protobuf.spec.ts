import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { chooseLoss } from '../losses';
import { readTrainingRequest } from './protobuf';

const LENGTH = 2;

const message = (field: number, write: (writer: BinaryWriter) => BinaryWriter, into = new BinaryWriter()) =>
  into.uint32(field * 8 + LENGTH).bytes(write(new BinaryWriter()).finish());
const text = (field: number, value: string, into = new BinaryWriter()) =>
  into.uint32(field * 8 + LENGTH).string(value);
const double = (field: number, value: number, into = new BinaryWriter()) =>
  into.uint32(field * 8 + 1).double(value);

/** ForwardBackwardRequest without data. */
const request = (loss = 'ppo') => text(4, loss, text(1, 'a'));
/** An option in the form that all clients send, and in that of newer ones. */
const old = (name: string, value: number, into: BinaryWriter) =>
  message(5, (entry) => double(2, value, text(1, name, entry)), into);
const option = (name: string, value: number | string, into: BinaryWriter) =>
  message(
    7,
    (entry) =>
      message(
        2,
        (each) => (typeof value === 'string' ? text(2, value, each) : double(1, value, each)),
        text(1, name, entry),
      ),
    into,
  );

describe('options of a loss', () => {
  it('are those of either map, and of the newer one where both have it', () => {
    const both = option('clip_low_threshold', 0.9, old('clip_low_threshold', 0.8, request()));
    const { lossConfig } = readTrainingRequest(old('clip_high_threshold', 1.5, both).finish());
    expect(lossConfig).toEqual({ clip_low_threshold: 0.9, clip_high_threshold: 1.5 });
  });

  it('that are texts are refused by name, also where another map has a number', () => {
    const sent = option('clip_low_threshold', 'soft', old('clip_low_threshold', 0.8, request()));
    const { lossFn, lossConfig } = readTrainingRequest(sent.finish());
    expect(() => chooseLoss(lossFn, lossConfig)).toThrow(
      'loss_fn_config.clip_low_threshold: is a text, expected a number',
    );
    const unknown = readTrainingRequest(option('kl_mode', 'k3', request()).finish());
    expect(() => chooseLoss('ppo', unknown.lossConfig)).toThrow(
      'loss_fn_config.kl_mode: is not an option of ppo here',
    );
    const uploaded = readTrainingRequest(option('loss_id', 'x', request('custom')).finish());
    expect(() => chooseLoss('custom', uploaded.lossConfig)).toThrow('loss_fn: "custom" is not known here');
  });
});

describe('a field that is not known', () => {
  const datum = (write: (writer: BinaryWriter) => BinaryWriter) => message(3, write, request());
  const chunk = (write: (writer: BinaryWriter) => BinaryWriter) => datum((each) => message(1, write, each));
  const image = (write: (writer: BinaryWriter) => BinaryWriter) => chunk((each) => message(2, write, each));
  const tensor = (write: (writer: BinaryWriter) => BinaryWriter) =>
    datum((each) => message(2, (entry) => message(2, write, text(1, 'weights', entry)), each));

  it.each<[string, BinaryWriter]>([
    ['has field 8 of tinker_public.ForwardBackwardRequest', text(8, 'x', request())],
    ['has field 5 of tinker_public.Datum', datum((each) => text(5, 'x', each))],
    ['has field 4 of tinker_public.Chunk', chunk((each) => text(4, 'x', each))],
    [
      'has field 2 of tinker_public.EncodedTextChunk',
      chunk((each) => message(1, (of) => text(2, 'x', of), each)),
    ],
    ['has field 5 of tinker_public.Tensor', tensor((each) => text(5, 'x', each))],
    [
      'has field 3 of tinker_public.LossConfigValue',
      message(7, (entry) => message(2, (each) => text(3, 'x', each), text(1, 'beta', entry)), request()),
    ],
    [
      'data[0].model_input[0].override_dimensions: is not supported',
      image((each) => message(4, (of) => of, each)),
    ],
    [
      'is not a message tinker_public.ForwardBackwardRequest',
      text(1, 'cut off')
        .uint32(3 * 8 + LENGTH)
        .uint32(99),
    ],
  ])('is refused by its name or number: %s', (told, writer) => {
    expect(() => readTrainingRequest(writer.finish())).toThrow(told);
  });

  it('is none where it says what tokens come from, or what an image is encoded as', () => {
    const span = (of: BinaryWriter) => message(1, (each) => text(1, 'sequence', each), of);
    const shown = (each: BinaryWriter) =>
      message(1, (of) => message(2, (bytes) => text(2, 'png', text(1, 'abc', bytes)), of), each);
    const sent = datum((each) => message(4, span, message(3, span, shown(each))));
    expect(readTrainingRequest(sent.finish()).data).toEqual([
      { chunks: [{ type: 'image', base64: Buffer.from('abc').toString('base64') }], inputs: new Map() },
    ]);
  });
});
