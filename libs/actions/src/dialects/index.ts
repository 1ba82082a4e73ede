import type { CreateDialect } from '../calls/make-dialect';
import type { CoordinateSpace } from '../coordinates';
import type { Dialect } from '../dialect';
import { jsonDialect } from '../json-dialect';
import { androidWorld } from './android-world';
import { anthropicBrowser } from './anthropic-browser';
import { anthropicComputer } from './anthropic-computer';
import { coordinates } from './coordinates';
import { cua } from './cua';
import { geminiComputer } from './gemini-computer';
import { natural } from './natural';
import { openAiComputer } from './openai-computer';
import { pyautogui } from './pyautogui';
import { qwenComputerUse } from './qwen-computer-use';
import { qwenMobileUse } from './qwen-mobile-use';
import { text } from './text';
import { uiTars, uiTars15 } from './ui-tars';

/** Creates an action format for a coordinate space. */
export interface DialectFactory {
  description: string;
  /** The space of the models from which it originates. */
  coordinates: CoordinateSpace;
  create: CreateDialect;
}

/** Action formats with a choice of coordinate space, by name. */
export const dialectFactories: Readonly<Record<string, DialectFactory>> = {
  android_world: {
    description: 'AndroidWorld: {"action_type":"click","x":83,"y":41}',
    coordinates: 'screenshot',
    create: androidWorld,
  },
  anthropic_browser: {
    description: "Anthropic's browser toolset of 2026, as far as it operates what the screenshot shows",
    coordinates: 'screenshot',
    create: anthropicBrowser,
  },
  anthropic_computer: {
    description: "Anthropic's computer toolset of 2026, and the computer tool before it",
    coordinates: 'screenshot',
    create: anthropicComputer,
  },
  coordinates: {
    description: 'Places first: 83 41 left_click',
    coordinates: 'screenshot',
    create: coordinates,
  },
  cua: {
    description: "Tool calls of Tinker's recipe for computer use: action, wait, finish",
    coordinates: 'screenshot',
    create: cua,
  },
  gemini_computer: {
    description: "Functions of Gemini's computer use, of Gemini 3.5 and before",
    coordinates: 'relative_1000',
    create: geminiComputer,
  },
  natural: {
    description: 'Sentences: Click at (83, 41).',
    coordinates: 'screenshot',
    create: natural,
  },
  openai_computer: {
    description: "OpenAI's computer tool: a computer_call with actions",
    coordinates: 'screenshot',
    create: openAiComputer,
  },
  pyautogui: {
    description: 'Python code for pyautogui, which is read and never run; WAIT, DONE, FAIL',
    coordinates: 'screenshot',
    create: pyautogui,
  },
  qwen_computer_use: {
    description: 'The tool computer_use of Qwen3-VL; of Qwen2.5-VL with coordinates: model_image',
    coordinates: 'relative_1000',
    create: qwenComputerUse,
  },
  qwen_mobile_use: {
    description: 'The tool mobile_use of Qwen3-VL; of Qwen2.5-VL with coordinates: model_image',
    coordinates: 'relative_1000',
    create: qwenMobileUse,
  },
  text: {
    description: 'Functions: left_click(83,41)',
    coordinates: 'screenshot',
    create: text,
  },
  ui_tars: {
    description: "UI-TARS 1: Action: click(start_box='<|box_start|>(83,41)<|box_end|>')",
    coordinates: 'relative_1000',
    create: uiTars,
  },
  ui_tars_1_5: {
    description: "UI-TARS 1.5: Action: click(point='<point>83 41</point>')",
    coordinates: 'model_image',
    create: uiTars15,
  },
};

/** All action formats by name, as `model.action_format` selects them, with their default coordinates. */
export const dialects: Readonly<Record<string, Dialect>> = {
  json: jsonDialect,
  ...Object.fromEntries(
    Object.entries(dialectFactories).map(([name, { coordinates: space, create }]) => [name, create(space)]),
  ),
};
