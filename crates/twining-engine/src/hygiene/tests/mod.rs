mod repeats;
mod secrets;
