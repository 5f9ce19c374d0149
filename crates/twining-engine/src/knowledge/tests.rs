mod check;
mod retrieve;
mod update;
