//! What a command line would do, as far as it is plain.
