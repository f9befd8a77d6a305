//! Examples, which stand below the help of each command, and the meanings of exit statuses.

/// Each exit status and its meaning.
pub const EXIT_STATUS: [(&str, &str); 5] = [
    ("0", "All went well."),
    ("1", "Reading or writing failed in the middle; a result or a rung was wrong; a GPU failed."),
    ("2", "The command line or the input is wrong, or memory does not suffice. Nothing was written."),
    ("130", "Ctrl-C. Nothing was written."),
    ("141", "What reads standard output has closed it."),
];

pub const WARPFOLD: &str = "Examples:
  warpfold reduce sum x.npy                        one number
  warpfold reduce mean x.npy --axis 0 -o m.npy     down the columns, into a file
  warpfold describe data.npz:prices                what a member of an archive holds
  warpfold reduce max - < x.npy                    standard input
  warpfold COMMAND --help                          more of a command, with examples";

pub const REDUCE: &str = "Examples:
  warpfold reduce sum x.npy
  warpfold reduce var x.npy --axis -1 --ddof 1 --skip-nan -o var.npy
  warpfold reduce max data.npz:prices --where mask.npy --initial 0
  warpfold reduce mean ticks.bin --raw '>f4' --shape 1000,1000 --json
  warpfold reduce sum x.npy --device cuda --time";

pub const DESCRIBE: &str = "Examples:
  warpfold describe x.npy
  warpfold describe x.npy --axis 0 --json -o columns.json
  warpfold describe x.npy --where mask.npy --skip-nan";

pub const SEGMENTS: &str = "Examples:
  warpfold segments sum x.npy --offsets offsets.npy
  warpfold segments max x.npy --offsets offsets.npy --fill 0 -o max.npy";

pub const GROUP: &str = "Examples:
  warpfold group mean prices.npy --by labels.npy
  warpfold group size prices.npy --by labels.npy --groups 100
  warpfold group first rows.npy --by labels.npy --fill nan -o first.npy";

pub const UNIQUE: &str = "Examples:
  warpfold unique x.npy
  warpfold unique x.npy --first
  warpfold unique x.npy -o values.npy --counts counts.npy --inverse which.npy";

pub const HISTOGRAM: &str = "Examples:
  warpfold histogram x.npy --bins 100
  warpfold histogram x.npy --bins 20 --range 0,1 -o counts.npy
  warpfold histogram x.npy --edges edges.npy --weights w.npy --json";

pub const KMEANS: &str = "Examples:
  warpfold kmeans points.npy -k 8
  warpfold kmeans points.npy -k 100 --init random --n-init 5 --seed 1 --labels labels.npy
  warpfold kmeans points.npy -k 3 --init centroids.npy --centroids moved.npy --quiet";

pub const SOFTMAX: &str = "Examples:
  warpfold softmax logits.npy -o probabilities.npy
  warpfold softmax scores.npy --axis 0 --scale 0.125 --where mask.npy";

pub const LOG_SOFTMAX: &str = "Examples:
  warpfold log-softmax logits.npy -o logs.npy
  warpfold log-softmax logits.npy --axis 1,2 --device cuda -o logs.npy";

pub const NORMALIZE: &str = "Examples:
  warpfold normalize x.npy -o y.npy
  warpfold normalize x.npy --by rms --weight w.npy --epsilon 1e-6 -o y.npy";

pub const EXPLAIN: &str = "Examples:
  warpfold explain sum --shape 1000,1000 --dtype f32 --axis 0
  warpfold explain argmax --shape 1000000 --dtype f16 --device cuda --json
  warpfold explain var --shape 64,4096 --dtype f64 --axis 1 --device cuda --ptx";

pub const DEVICES: &str = "Examples:
  warpfold devices
  warpfold devices --json";

pub const LADDER: &str = "Examples:
  warpfold ladder
  warpfold ladder --rung a3,a4 --device emulator
  warpfold ladder --family a --html ladder.html";

pub const BENCH: &str = "Examples:
  warpfold bench --list
  warpfold bench --suite cpu --device cpu --json record.json
  warpfold bench --suite smoke --peers numpy --filter sum";

pub const COMPLETIONS: &str = "Examples:
  warpfold completions bash > ~/.local/share/bash-completion/completions/warpfold
  warpfold completions zsh > ~/.zfunc/_warpfold
  warpfold completions fish > ~/.config/fish/completions/warpfold.fish";

pub const MAN: &str = "Examples:
  warpfold man > warpfold.1
  man ./warpfold.1";
