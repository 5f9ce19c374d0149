import React from 'react';
/* A list. */
export const List = React.memo(({ items, onPick }) => {
  const [open, setOpen] = React.useState(false);
  return (
    <>
      {/* don't */}
      {items.map(item => <Item key={item.id} {...item} onClick={() => onPick(item)} label="it's" />)}
      <p className={`a ${open ? 'b' : "c"}`}>Don't &amp; can't // not a comment</p>
    </>
  );
});
function* ids() { let i = 0; for (;;) yield i++; }
module.exports = { List, async run() {}, get [ids]() { return 1 } };
class A extends List { static { this.x = 1; } render = () => <A.B/>; }
