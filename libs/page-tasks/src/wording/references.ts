import { phrases } from './phrases';

/** References to an element. `mention` formats names; `<noun>` is a word for its kind. */
export const NAME = phrases(['<name>'], []);

export const NOUN_AND_NAME = phrases(
  [
    'the <name> <noun>',
    '<name> <noun>',
    'the <noun> <name>',
    '<noun> <name>',
    'the <noun> (called|named|titled|entitled)( |: )<name>',
    'the <noun> (labelled|labeled|marked|captioned) <name>',
    'the <noun> (that says|saying|which says|that reads|reading|showing|that shows) <name>',
    'the <noun> (with the (label|caption|text|name|title|words)|with) <name>',
    'the <noun> whose (label|text|name|caption) is <name>',
    '<name> (the <noun>)',
  ].map((template) => template.replace('(the <noun>)', '[<noun>]')),
  ['the <noun> bearing (the name|) <name>', 'that <noun>, <name>', 'the <noun> on which <name> is written'],
);

export const FIELD_AND_NAME = phrases(
  [
    'the <name> <noun>',
    '<name> <noun>',
    'the <noun> <name>',
    'the <noun> (for|of) <name>',
    'the <noun> (called|named|labelled|labeled|titled|marked) <name>',
    'the <noun> with (the label|the name|the caption|label) <name>',
    'the <noun> whose (label|name) is <name>',
    'the <noun> where <name> (goes|belongs|is entered|is asked for)',
  ],
  ['the <noun> that asks for <name>', 'the <noun> meant for <name>', 'the <noun> to the name of <name>'],
);

export const CHOICE_AND_NAME = phrases(
  [
    'the <name> <noun>',
    'the <noun> <name>',
    '<noun> <name>',
    'the <noun> (for|of|with|labelled|labeled|next to|beside|called|named|in front of|at) <name>',
    'the <noun> that belongs to <name>',
    'the <noun> (whose label is|that says|saying) <name>',
  ],
  ['the <noun> going with <name>', 'the <noun> that goes by <name>'],
);

export const LABEL = phrases(
  [
    'the <noun> (next to|beside|at|by|behind|after) (the label|the text|the word|) <name>',
    'the <noun> that (stands|is) (next to|beside|at) <name>',
    'the <noun> belonging to the label <name>',
    'the <noun> <name> stands at',
  ],
  ['the <noun> adjacent to <name>', 'the <noun> closest to the label <name>'],
);

export const ONLY_NOUN = phrases(
  [
    'the <noun>',
    'the only <noun>',
    'the <noun> on (the page|the screen|this page|this screen)',
    'the one <noun> (there is|you see|in view)',
  ],
  ['the single <noun>', 'the <noun> you can see'],
);

export const ICON = phrases(
  [
    'the <name> icon',
    'the (icon|symbol) (of|for|showing|with|that shows|depicting) (a|the|) <name>',
    '<name> icon',
    'the <name> symbol',
    'the <name>',
    'the little picture of (a|the|) <name>',
    'the icon (called|named) <name>',
  ],
  ['the pictogram (of|for) <name>', 'the glyph that stands for <name>'],
);

export const LOOKS = phrases(
  [
    'the <looks>',
    'the (one|single|only) <looks>',
    'a <looks>',
    'the <looks> (you see|on the screen|on this page|there)',
    '<looks>',
  ],
  ['that <looks>', 'the <looks> in view'],
);

export const PLACE_IN_COLUMN = phrases(
  [
    'the <ordinal> <noun>',
    'the <ordinal> <noun> from the top',
    '<noun> number <number>',
    'the <ordinal> <noun> (in the list|of the page|down|counted from the top)',
    '<noun> no. <number>',
  ],
  ['the <ordinal> of the <nouns>', 'the <ordinal> <noun> going down'],
);

export const PLACE_IN_ROW = phrases(
  [
    'the <ordinal> <noun>',
    'the <ordinal> <noun> from the left',
    '<noun> number <number>',
    'the <ordinal> <noun> (in the row|counted from the left|from left to right)',
    '<noun> no. <number>',
  ],
  ['the <ordinal> of the <nouns>', 'the <ordinal> <noun> going right'],
);

export const TOP = phrases(
  [
    'the (first|top|topmost|uppermost|highest) <noun>',
    'the <noun> at the top',
    'the <noun> (above all others|highest up)',
  ],
  ['the <noun> that comes first'],
);
export const BOTTOM = phrases(
  [
    'the (last|bottom|bottommost|lowest|final) <noun>',
    'the <noun> at the bottom',
    'the <noun> (below all others|furthest down)',
  ],
  ['the <noun> that comes last'],
);
export const LEFTMOST = phrases(
  ['the (first|leftmost|left) <noun>', 'the <noun> (at the left|furthest left|on the left side|on the left)'],
  ['the <noun> that is most to the left'],
);
export const RIGHTMOST = phrases(
  [
    'the (last|rightmost|right) <noun>',
    'the <noun> (at the right|furthest right|on the right side|on the right)',
  ],
  ['the <noun> that is most to the right'],
);
export const MIDDLE = phrases(
  ['the middle <noun>', 'the <noun> in the middle', 'the <noun> between the two others'],
  ['the central <noun>'],
);

export const LEFT_OF = phrases(
  [
    'the <noun> (to the left of|left of|on the left of|on the left side of|before|just left of) <anchor>',
    'the <noun> (that is|which is|) directly left of <anchor>',
    'the <noun> whose right neighbour is <anchor>',
  ],
  ['what stands left of <anchor>, the <noun>', 'the <noun> preceding <anchor>'],
);
export const RIGHT_OF = phrases(
  [
    'the <noun> (to the right of|right of|on the right of|on the right side of|after|just right of) <anchor>',
    'the <noun> (that is|which is|) directly right of <anchor>',
    'the <noun> whose left neighbour is <anchor>',
  ],
  ['what stands right of <anchor>, the <noun>', 'the <noun> that follows <anchor> on its right'],
);
export const ABOVE = phrases(
  [
    'the <noun> (above|over|on top of|just above|directly above|higher than) <anchor>',
    'the <noun> (that is|which is) above <anchor>',
    'the <noun> with <anchor> (below|under|underneath) it',
  ],
  ['the <noun> one step up from <anchor>', 'the <noun> immediately above <anchor>'],
);
export const BELOW = phrases(
  [
    'the <noun> (below|under|underneath|beneath|just below|directly below|lower than) <anchor>',
    'the <noun> (that is|which is) below <anchor>',
    'the <noun> with <anchor> above it',
  ],
  ['the <noun> one step down from <anchor>', 'the <noun> immediately below <anchor>'],
);

export const IN_ROW = phrases(
  [
    'the <noun> (in|of|on) the row (of|for|with|containing|that shows|that has|showing|named) <anchor>',
    'the <noun> (for|of|next to|belonging to) <anchor>',
    "<anchor>'s <noun>",
    'the <noun> in the <anchor> row',
    'the <noun> in the same (row|line) as <anchor>',
  ],
  ['the <noun> on the line where <anchor> stands', 'the <noun> sharing a row with <anchor>'],
);
export const NAME_IN_ROW = phrases(
  [
    '<name> (in|of|on) the row (of|for|with|containing|that shows|that has|named) <anchor>',
    '<name> (for|of|at|next to|belonging to) <anchor>',
    'the <name> (of|for) <anchor>',
    '<name> in the <anchor> row',
    '<name> in the same (row|line) as <anchor>',
  ],
  ['<name> on the line where <anchor> stands', '<name> sharing a row with <anchor>'],
);
export const IN_COLUMN = phrases(
  [
    'the cell in the row of <row> and the column <column>',
    'the <column> (of|for) <row>',
    'the <column> cell in the row (of|with|for) <row>',
    'the cell where the row of <row> meets (the column|) <column>',
    'the cell below <column> in the row of <row>',
    'the entry of <row> in the column <column>',
  ],
  ['the crossing of <row> and <column>', 'the cell under <column> on the line of <row>'],
);
export const CELL = phrases(
  [
    'the <noun> in row <row>, column <column>',
    'row <row>, column <column>',
    'the <noun> in the <rowth> row and the <columnth> column',
    'the <columnth> <noun> (of|in) the <rowth> row',
    'the <noun> at row <row> and column <column>',
    'the <rowth> <noun> of the <columnth> column',
  ],
  [
    'the <noun> (row <row>/column <column>)'.replace('(', '[').replace(')', ']'),
    'the <noun> <rowth> from the top and <columnth> from the left',
  ],
);

export const UNDER_HEADING = phrases(
  [
    '<name> under (the heading|the title|) <heading>',
    '<name> in (the section|the part|the block|) <heading>',
    '<name> (below|beneath) the (heading|title|headline) <heading>',
    '<name> (of|from) the <heading> (section|part|area)',
    'under <heading>, <name>',
  ],
  ['<name> where the heading is <heading>', '<name> of what <heading> covers'],
);
export const NOUN_UNDER_HEADING = phrases(
  [
    'the <noun> under (the heading|the title|) <heading>',
    'the <noun> in (the section|the part|the block) <heading>',
    'the <noun> (below|beneath) the (heading|title|headline) <heading>',
    'the <noun> (of|in) the <heading> (section|part|area)',
  ],
  ['the <noun> where the heading is <heading>', 'the <noun> of what <heading> covers'],
);

export const INSIDE = phrases(
  [
    '<name> (in|inside|of|within) the <container>',
    'the <noun> <name> (in|inside) the <container>',
    'in the <container>, <name>',
    '<name> on the <container>',
  ],
  ['<name>, the one in the <container>'],
);

export const WITH_VALUE = phrases(
  [
    'the <noun> (that contains|containing|with the text|with the value|that holds|in which you see|showing|filled with|that says|with) <value>',
    'the <noun> whose (value|content|text) is <value>',
    'the <noun> set to <value>',
  ],
  ['the <noun> in which <value> stands', 'the <noun> holding <value> at present'],
);

export const IN_STATE = phrases(
  [
    'the <state> <noun>',
    'the <noun> that is <state>',
    'the <noun> which is <state>',
    'the only <state> <noun>',
    'the one <noun> that is <state>',
  ],
  ['the <noun> currently <state>', 'whichever <noun> is <state>'],
);

/** Elements distinguished by their extent: bars of a chart. */
export const EXTREME = phrases(
  [
    'the <extreme> <noun>',
    'the <noun> that is <extreme>',
    'the <extreme> <noun> (of all|in the chart|of the chart|there is)',
    'the <extreme> of the <nouns>',
  ],
  ['the <noun> which is the <extreme> one'],
);

export const CLOSE_OF = phrases(
  [
    'the (x|cross) of the <container>',
    'the (button|x|cross) that closes the <container>',
    'the close button (of|in|on) the <container>',
    "the <container>'s close button",
    'the cross in the corner of the <container>',
  ],
  ['the thing that dismisses the <container>'],
);
