#pragma once
#include <vector>
namespace a::b {
template <typename T, int N = 3> class Key final : public Base<T>, private Other {
public:
    explicit Key(T &&value) noexcept : value_{std::move(value)} {}
    virtual ~Key() = default;
    Key &operator=(const Key &) = delete;
    auto read() const -> decltype(value_) { return [this, x = 1'000]() mutable { return value_; }(); }
    static constexpr int LIMIT = 0b101;
private:
    T value_;
    friend bool operator<(const Key &a, const Key &b);
};
template <> struct Key<int> { using type = int; enum class Kind : char { A, B }; };
concept Small = requires(T t) { t.size(); };
}
void a::b::Key<int>::run(std::vector<std::vector<int>> &&v) { auto s = R"x(raw "text" // no)x"; }
extern "C" { int plain(void); }
