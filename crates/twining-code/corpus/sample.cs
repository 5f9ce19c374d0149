using System;
using static System.Math;
namespace Store.Keys
{
    /// <summary>A key.</summary>
    [Serializable, Obsolete("x")]
    public sealed partial class Key<T> : Base, IStore where T : class, new()
    {
        private const int Limit = 10, Other = 1;
        public static readonly string Path = @"c:\""x""" + $"{Limit:X} {nameof(T)}" + """raw " text""";
        public string Name { get; private set; } = "a";
        public int Size => 1;
        public event EventHandler Changed;
        public Key(T value) : base(value) { }
        ~Key() { }
        public async Task<int> ReadAsync(params int[] more) { int Local() => 1; await foreach (var x in more) { } return Local() switch { 1 => 'c', _ => 0 }; }
        public static Key<T> operator +(Key<T> a, Key<T> b) => a;
        #if DEBUG
        void Trace() { }
        #endif
    }
    interface IStore { void Close(); }
    record struct Point(int X, int Y);
    delegate void Handler(object sender);
    enum Kind : byte { A = 1, B }
}
