#include <stdio.h>
#include "store.h"
#define LIMIT 10
#define MAX(a, b) \
    ((a) > (b) ? (a) : (b))
#ifdef A
typedef struct key { char name[LIMIT]; struct key *next; } key_t, *key_p;
#endif
enum kind { A = 1, B, };
union u { int i; float f; };
static inline const char *read_key(const struct key *k, int (*f)(void), ...);
int (*handler)(int) = NULL;
/* A comment. */
int
main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) { printf("%s\n" "more", argv[i]); goto end; }
    char c = '\''; // done
end:
    return MAX(1, sizeof(struct key)) ? 0 : 1;
}
