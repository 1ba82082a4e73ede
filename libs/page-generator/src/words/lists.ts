/** Words of one list, separated by spaces or, where they contain spaces, by `|`. */
function list(text: string, separator: RegExp = /\s+/): string[] {
  return text.trim().split(separator);
}

export const NOUNS = list(`
anchor apple apron arrow autumn badge bakery balcony bamboo banner barrel basket battery beacon bicycle blanket blossom border bottle branch
breeze bridge bronze bucket button cabin cable cactus camera candle canvas canyon carbon cargo carpet castle cedar cellar chamber chapter cherry
circle citrus clover coast coffee comet copper corner cotton courage cradle crayon cricket crystal current curtain cushion dagger daisy dawn desert
diamond dinner dolphin domain dragon drawer eagle earth echo elbow ember engine evening fabric falcon farmer feather fence ferry fever field
finger flame flavor flower forest fossil fountain fox frame garden garlic gate ginger glacier glove granite gravel guitar hammer harbor harvest hazel
helmet herb hill honey horizon hotel island ivory jacket jasmine jewel journal journey jungle kettle kingdom kitchen ladder lagoon lamp lantern
lavender leaf legend lemon letter lily linen lizard lobster lotus magnet mango maple marble market meadow melon mercury meteor mirror monsoon
moon mosaic mountain museum mushroom needle nest nickel night north notebook oak oasis ocean olive onion opal orange orchard orchid otter owl oxygen
paddle palace palm panda paper parade parcel pasture peach pearl pebble pencil pepper piano picnic pigeon pillow pine pirate planet plum pocket
poem pond portrait potato prairie prism pumpkin puzzle quartz quill rabbit radar rain raven reef ribbon rice river road robot rocket root rose
saddle saffron salmon sand satin scarf school shadow shelf shell shield silver sketch sky sled smoke snow sparrow spice spider spring square
squirrel stable star station statue steam stone storm straw stream sugar summer sunset swan table tea temple thistle thunder tiger timber
tomato tower trail train travel tree tulip tunnel turtle umbrella valley vanilla velvet village vine violet violin walnut water wave wheat wheel
whisper willow window winter wolf wood wool yarn yogurt zebra zinc
`);

export const ADJECTIVES = list(`
able active amber ancient basic bitter blank bold brave brief bright broad busy calm careful cheap clean clear clever close cold common cool
crisp curious current daily damp dark deep dense direct distant double dry dull eager early easy empty equal exact extra faint fair famous fancy
fast final fine firm first flat formal free fresh full gentle giant glad global golden good grand great half happy hard heavy hidden high hollow
honest huge humble idle inner joint keen kind large last late lean level light likely little local long loose loud low lucky main major mild minor
mixed modern narrow native neat new next nice noble normal odd old open other outer pale plain polite poor proper proud public pure quick quiet
rapid rare raw ready real recent red rich rough round rural safe same sharp short shy silent simple single slim slow small smart smooth soft solid
sour spare steady steep still strict strong sudden sunny super sweet swift tall tame tender thick thin tidy tight tiny total tough true urban usual
vague vast vital warm weak weekly whole wide wild wise young zero
`);

export const VERBS = list(`
accept add adjust allow answer apply archive arrange ask assign attach bake balance begin bend book borrow bring build buy call carry change
charge check choose clean clear climb close collect combine compare compute connect continue copy count cover create cut deliver deny describe
design discard divide download draft draw drive drop earn edit enter erase exit expand explain export fill filter find finish fix fold follow forget
gather give grow guess guide hide hire hold import improve include inspect install invite join keep learn leave lift like link list listen load
lock look lower make manage mark measure meet merge mix move mute name notify offer open order pack paint park paste pause pay pick pin plan plant play
post pour prepare preview print publish pull push put raise read rebuild record reduce refresh reject release remove rename repair repeat replace reply
report request reset resize rest return review rotate run save scan search select sell send share shift show sign skip sort split start stop store study
submit subscribe swap switch tag take test tie trace track trade turn undo unlock update upload use verify view visit wait walk warn wash watch
wear weigh wrap write zoom
`);

export const LABELS = list(
  `OK|Cancel|Yes|No|Save|Save changes|Delete|Remove|Edit|Add|Add item|New|Open|Close|Back|Next|Previous|Continue|Done|Finish|Apply|Reset|Clear|Clear all|
Search|Find|Go|Send|Reply|Forward|Share|Copy|Paste|Cut|Undo|Redo|Print|Download|Upload|Import|Export|Refresh|Retry|Help|About|Contact|Contact us|
Home|Profile|Account|Settings|Options|Preferences|Log in|Log out|Sign in|Sign out|Sign up|Register|Join|Subscribe|Follow|Like|Comment|Post|Publish|
Preview|View|Details|More|Less|Show more|Show all|Hide|Expand|Collapse|Select|Select all|None|All|Filter|Sort|Sort by|Order|Buy now|Add to cart|
Checkout|Pay|Book|Reserve|Confirm|Accept|Decline|Agree|Skip|Start|Stop|Pause|Resume|Play|Record|Mute|Dismiss|Got it|Learn more|Read more|Terms|
Privacy|Security|Language|Currency|Notifications|Messages|Inbox|Drafts|Sent|Archive|Spam|Trash|Files|Folders|Photos|Music|Videos|Documents|
Projects|Tasks|Calendar|Reports|Users|Teams|Billing|Invoices|Orders|Products|Customers|Dashboard|Overview|Summary|History|Activity|Statistics|
General|Advanced|Display|Sound|Network|Storage|Backup|Updates|Theme|Dark mode|Light mode|Zoom in|Zoom out|Full screen|Submit|Update|Create|Rename|
Duplicate|Move|Attach|Insert|Link|Unlink|Lock|Unlock|Enable|Disable|Connect|Disconnect|Test|Run|Build|Deploy|Check|Verify|Validate|Approve|Reject`.replace(
    /\n/g,
    '',
  ),
  /\|/,
);

export const FIELD_NAMES = list(
  `Name|First name|Last name|Full name|Email|E-mail address|Phone|Mobile|Address|Street|City|State|Zip code|Postcode|Country|Company|Job title|
Username|User ID|Nickname|Website|Subject|Message|Notes|Comments|Description|Title|Topic|Keyword|Amount|Price|Quantity|Total|Budget|Age|Height|Weight|
Date|Start date|End date|Birthday|Time|From|To|Departure|Arrival|Destination|Guests|Room|Seat|Flight|Order number|Coupon code|Card number|Reference|
Department|Team|Manager|Category|Tags|Color|Size|Model|Serial number|Version|Path|File name|Folder|Host|Port|Server|Domain|Key|Value|Label|Code`.replace(
    /\n/g,
    '',
  ),
  /\|/,
);

export const FIRST_NAMES = list(`
Ada Aisha Alba Amir Anders Anika Anton Arjun Astrid Bao Beatriz Benno Bianca Bjorn Carmen Cedric Chidi Chloe Dario Deepa Dmitri Edda Elena Eli
Emeka Esra Farid Fatima Felix Fiona Gavin Gloria Greta Hana Hassan Hugo Ida Igor Ines Ivan Jada Jonas Jorge Julia Kaito Karim Katya Kofi Lars Leila
Liam Lin Lucia Luis Mabel Malik Marco Mei Mila Mona Nadia Naomi Nils Noor Nora Olga Omar Oscar Paula Pedro Petra Priya Quinn Rafael Rahul Rosa Ruth
Sana Santiago Selma Simon Sofia Sven Tara Tariq Theo Tomas Uma Valeria Vera Victor Wanda Wei Yara Yuki Yusuf Zahra Zoe
`);

export const LAST_NAMES = list(`
Abbott Adeyemi Almeida Andersson Bauer Becker Bianchi Brandt Castillo Chaudhry Chen Costa Dahl Dubois Eriksen Farkas Fernandez Fischer Fontaine
Fujimoto Gallagher Garcia Greco Gupta Haddad Hansen Hoang Horvath Ibrahim Ivanova Jansen Jensen Kapoor Kato Keller Khan Kimura Klein Kovacs Kowalski
Larsen Laurent Lindberg Lopez Mancini Markovic Mbeki McCarthy Meyer Moreau Moretti Nakamura Ndiaye Nguyen Novak Nyberg Okafor Oliveira Olsen Ortiz
Park Patel Pavlov Pereira Petrov Popescu Quiroga Rahman Ramos Ricci Rojas Rossi Sato Schneider Sharma Silva Sokolov Sorensen Suzuki Takeda
Tanaka Torres Usman Vargas Vasquez Vogel Wagner Walsh Weber Winkler Yamada Yilmaz Zhang Zimmer
`);

export const PLACES = list(
  `Accra|Almaty|Amman|Antwerp|Athens|Auckland|Baku|Bergen|Bilbao|Bogota|Bologna|Brasilia|Bremen|Brisbane|Busan|Cairo|Calgary|Cardiff|Cork|
Cusco|Dakar|Denver|Dhaka|Doha|Dresden|Dublin|Durban|Fez|Florence|Gdansk|Geneva|Ghent|Glasgow|Graz|Hanoi|Havana|Helsinki|Hobart|Izmir|Jaipur|Kigali|
Kyoto|La Paz|Lagos|Leipzig|Lima|Linz|Lisbon|Lyon|Malmo|Manila|Medellin|Merida|Minsk|Montreal|Muscat|Nairobi|Nantes|Nice|Odense|Oslo|Ottawa|Oulu|
Penang|Perth|Porto|Prague|Quito|Recife|Riga|Rabat|Salta|San Juan|Seville|Skopje|Sofia|Split|Tallinn|Tampere|Tbilisi|Tirana|Toledo|Trieste|Tunis|
Turin|Utrecht|Valencia|Varna|Vienna|Vilnius|Wroclaw|Yerevan|Zagreb|Zurich`.replace(/\n/g, ''),
  /\|/,
);

export const LITTLE_WORDS = list(
  `the a of to in for on with at by from and or but as is was are be it this that your our their all no not new more than when after before`,
);
