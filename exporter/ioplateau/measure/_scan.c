/* The native twin of the lean scan: what moved in a text that was understood before.

   Each function is given a piece of a kernel file and what was understood of the same piece a
   tick ago. Where nothing but plain numbers changed, it gives the new values, the same as the
   Python beside it (nfsheads.py, nfslines.py, nfstables.py, diskstats.py) would make. On anything
   else it gives None, and Python reads the piece: only there is it decided what is wrong with a
   text and what is said of it.

   A plain number is of 1 to 18 digits, so that it fits into 64 bits with its sign. Nothing
   is taken on trust: a text may end at any byte.

   Only the stable ABI of Python 3.11 (_abi.h): what is built fits all later versions. */

#include "_abi.h"

#include <stdint.h>
#include <string.h>

#define MOST_DIGITS 18
#define MOST_GROWN (1LL << 31) /* by more a counter may have wrapped, which Python knows */

typedef struct {
    const char *at, *end;
} Text;

static PyObject *
one_more(PyObject *object)
{
    Py_IncRef(object);
    return object;
}

/* None, for Python to read it, unless something was raised. */
static PyObject *
not_mine(void)
{
    return PyErr_Occurred() != NULL ? NULL : one_more(&_Py_NoneStruct);
}

static PyObject *
dropped(PyObject *object)
{
    Py_DecRef(object);
    return NULL;
}

/* Move over `size` bytes if they are those of `what`. */
static int
skip(Text *text, const char *what, Py_ssize_t size)
{
    if (text->end - text->at < size || memcmp(text->at, what, (size_t)size) != 0) {
        return 0;
    }
    text->at += size;
    return 1;
}

static void
skip_blanks(Text *text)
{
    while (text->at < text->end && *text->at == ' ') {
        text->at++;
    }
}

/* Move over a plain number, behind which something stands that is no digit. */
static int
number(Text *text, long long *value)
{
    const char *at = text->at, *end = text->end;
    const char *most = end - at > MOST_DIGITS ? at + MOST_DIGITS : end;
    long long sum = 0;
    for (; at < most && *at >= '0' && *at <= '9'; at++) {
        sum = sum * 10 + (*at - '0');
    }
    int is_plain = at > text->at && at < end && !(*at >= '0' && *at <= '9');
    *value = sum;
    text->at = at;
    return is_plain;
}

static int
text_of(PyObject *bytes, Text *text)
{
    char *start;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(bytes, &start, &size) < 0) {
        return 0;
    }
    text->at = start;
    text->end = start + size;
    return 1;
}

/* From `start` on. */
static int
text_from(PyObject *bytes, PyObject *start, Text *text)
{
    if (!text_of(bytes, text)) {
        return 0;
    }
    Py_ssize_t skipped = PyLong_AsSsize_t(start);
    if (skipped < 0 || skipped > text->end - text->at) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "a start outside of the text");
        }
        return 0;
    }
    text->at += skipped;
    return 1;
}

static int
has_arguments(Py_ssize_t given, Py_ssize_t wanted)
{
    if (given != wanted) {
        PyErr_Format(PyExc_TypeError, "%zd arguments, want %zd", given, wanted);
        return 0;
    }
    return 1;
}

/* A tuple of the first `size` values, None where there are fewer. */
static PyObject *
integers(const long long *values, Py_ssize_t count, Py_ssize_t size)
{
    PyObject *found = PyTuple_New(size);
    for (Py_ssize_t i = 0; found != NULL && i < size; i++) {
        PyObject *each = i < count ? PyLong_FromLongLong(values[i]) : one_more(&_Py_NoneStruct);
        if (each == NULL || PyTuple_SetItem(found, i, each) < 0) {
            found = dropped(found);
        }
    }
    return found;
}

/* The named tuple `kind` of `values`, which is taken over. */
static PyObject *
named(PyObject *kind, PyObject *values)
{
    newfunc make = (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
    PyObject *arguments = values == NULL ? NULL : PyTuple_Pack(1, values);
    Py_DecRef(values);
    if (arguments == NULL) {
        return NULL;
    }
    PyObject *meta = PyObject_Type(kind), *made = NULL;
    if ((PyType_GetFlags((PyTypeObject *)meta) & Py_TPFLAGS_TYPE_SUBCLASS)
        && PyType_IsSubtype((PyTypeObject *)kind, &PyTuple_Type)) {
        made = make((PyTypeObject *)kind, arguments, NULL);
    } else {
        PyErr_SetString(PyExc_TypeError, "want a kind of tuple");
    }
    Py_DecRef(meta);
    Py_DecRef(arguments);
    return made;
}

/* ------------------------------------------------------------ mountstats: what rests */

static const char DEVICE[] = "device ";

/* Where each field of a Mount stands: in which piece of what is known of its record, and as the
   how-manieth there (nfsrecords.py). */
enum { HEAD, FRONT, TABLE, PIECES, OCCURRENCE = PIECES, AGE, CONNECTIONS };
static const struct {
    int piece;
    Py_ssize_t field;
} MOUNT[] = {
    {HEAD, 1}, {HEAD, 2}, {OCCURRENCE, 0}, {HEAD, 3}, {HEAD, 4}, {AGE, 0}, {FRONT, 1}, {FRONT, 2},
    {FRONT, 4}, {CONNECTIONS, 0}, {TABLE, 1}, {FRONT, 3}, {TABLE, 2},
};
#define MOUNT_FIELDS ((Py_ssize_t)(sizeof MOUNT / sizeof *MOUNT))

static PyObject *
mount(PyObject *kind, PyObject *const *pieces, long occurrence, long long age, PyObject *connections)
{
    PyObject *fields = PyTuple_New(MOUNT_FIELDS);
    for (Py_ssize_t i = 0; fields != NULL && i < MOUNT_FIELDS; i++) {
        PyObject *each = MOUNT[i].piece == OCCURRENCE    ? PyLong_FromLongLong(occurrence)
                         : MOUNT[i].piece == AGE         ? PyLong_FromLongLong(age)
                         : MOUNT[i].piece == CONNECTIONS ? one_more(connections)
                         : one_more(PyTuple_GetItem(pieces[MOUNT[i].piece], MOUNT[i].field));
        if (each == NULL || PyTuple_SetItem(fields, i, each) < 0) {
            fields = dropped(fields);
        }
    }
    return named(kind, fields);
}

/* Move over the text that is the first field of a piece. */
static int
skip_piece(Text *text, PyObject *piece)
{
    Text said;
    PyObject *first = PyTuple_GetItem(piece, 0);
    return first != NULL && text_of(first, &said) && skip(text, said.at, said.end - said.at);
}

/* The how-manieth of its mount point a record is; -1: raised. */
static long
occurrence_of(PyObject *seen, PyObject *head)
{
    PyObject *point = PyTuple_GetItem(head, 2);
    PyObject *before = point == NULL ? NULL : PyDict_GetItemWithError(seen, point);
    Py_ssize_t occurrence = before == NULL ? 0 : PyLong_AsSsize_t(before);
    PyObject *after = PyErr_Occurred() ? NULL : PyLong_FromLongLong(occurrence + 1);
    int failed = after == NULL || PyDict_SetItem(seen, point, after) < 0;
    Py_DecRef(after);
    return failed ? -1 : (long)occurrence;
}

static const char rest_doc[] =
    "rest(text, at, records, lines, connections, seen, mounts, kept, kind): take in the records from\n"
    "`at` on that are those of `records` but for their age and connections; where the next begins.";

static PyObject *
rest(PyObject *self, PyObject *const *arguments, Py_ssize_t given)
{
    (void)self;
    Text text, lines;
    if (!has_arguments(given, 9) || !text_from(arguments[0], arguments[1], &text)
        || !text_of(arguments[3], &lines)) {
        return NULL;
    }
    PyObject *records = arguments[2], *connections = arguments[4], *seen = arguments[5];
    PyObject *mounts = arguments[6], *kept = arguments[7], *none = &_Py_NoneStruct;
    Py_ssize_t place = PyList_Size(kept), count = PyList_Size(records);
    for (; 0 <= place && place < count && text.at < text.end; place++) {
        Text here = text;
        PyObject *known = PyList_GetItem(records, place), *pieces[PIECES];
        if (known == NULL || known == none || !skip(&here, DEVICE, sizeof DEVICE - 1)) {
            break;
        }
        for (int i = 0; i < PIECES; i++) {
            pieces[i] = PyTuple_GetItem(known, i);
            if (pieces[i] == NULL) {
                return NULL;
            }
        }
        long long age = 0;
        int is_nfs = pieces[FRONT] != none && pieces[TABLE] != none;
        if (!skip_piece(&here, pieces[HEAD])
            || (is_nfs
                && !(number(&here, &age) && skip_piece(&here, pieces[FRONT])
                     && skip(&here, lines.at, lines.end - lines.at)
                     && skip_piece(&here, pieces[TABLE])))) {
            break;
        }
        Text next = here;
        if (here.at < here.end && !skip(&next, DEVICE, sizeof DEVICE - 1)) {
            break;
        }
        long occurrence = occurrence_of(seen, pieces[HEAD]);
        if (occurrence < 0 || PyList_Append(kept, known) < 0) {
            return NULL;
        }
        if (is_nfs) {
            PyObject *made = mount(arguments[8], pieces, occurrence, age, connections);
            int failed = made == NULL || PyList_Append(mounts, made) < 0;
            Py_DecRef(made);
            if (failed) {
                return NULL;
            }
        }
        text.at = here.at;
    }
    if (PyErr_Occurred()) {
        return NULL;
    }
    return PyLong_FromLongLong(text.at - PyBytes_AsString(arguments[0]));
}

/* ---------------------------------------------------------------- mountstats: the front */

#define MOST_COUNTS 64
static const char BYTES[] = "\n\tbytes:\t";

/* Numbers with blanks between and behind them, to the end of the line; how many, or -1. */
static Py_ssize_t
counts(Text *text, const char **starts, long long *values)
{
    Py_ssize_t count = 0;
    for (;;) {
        skip_blanks(text);
        if (text->at == text->end) {
            return -1;
        }
        if (*text->at == '\n') {
            starts[count] = text->at;
            return count;
        }
        starts[count] = text->at;
        if (count == MOST_COUNTS || !number(text, &values[count])
            || (*text->at != ' ' && *text->at != '\n')) {
            return -1;
        }
        count++;
    }
}

static const char front_doc[] =
    "front(text, start, last, counts_start, counts_end): of the front `last` with other counts, which\n"
    "begins at `start`: its events as they stand, its bytes, and where those end.";

static PyObject *
front(PyObject *self, PyObject *const *arguments, Py_ssize_t given)
{
    (void)self;
    Text text, last, behind;
    const char *starts[MOST_COUNTS + 1];
    long long values[MOST_COUNTS];
    if (!has_arguments(given, 5) || !text_from(arguments[0], arguments[1], &text)
        || !text_of(arguments[2], &last) || !text_from(arguments[2], arguments[4], &behind)) {
        return NULL;
    }
    Py_ssize_t counts_start = PyLong_AsSsize_t(arguments[3]);
    if (counts_start == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (counts_start <= 0 || counts_start > behind.at - last.at
        || !skip(&text, last.at, counts_start)) {
        return not_mine();
    }
    Py_ssize_t count = counts(&text, starts, values);
    if (count <= 0) {
        return not_mine();
    }
    PyObject *events = PyTuple_New(count);
    for (Py_ssize_t i = 0; events != NULL && i < count; i++) {
        const char *stop = starts[i];
        while (*stop >= '0' && *stop <= '9') { /* counts() has seen what ends it */
            stop++;
        }
        PyObject *each = PyBytes_FromStringAndSize(starts[i], stop - starts[i]);
        if (each == NULL || PyTuple_SetItem(events, i, each) < 0) {
            events = dropped(events);
        }
    }
    if (events == NULL) {
        return NULL;
    }
    if (skip(&text, BYTES, sizeof BYTES - 1) && (count = counts(&text, starts, values)) > 0) {
        Text rest = text;
        char *begin = PyBytes_AsString(arguments[0]);
        if (begin != NULL && skip(&rest, behind.at, behind.end - behind.at)) {
            return Py_BuildValue("(NNn)", events, integers(values, count, count),
                                 (Py_ssize_t)(text.at - begin));
        }
    }
    Py_DecRef(events);
    return not_mine();
}

/* ---------------------------------------------------------- mountstats: the connections */

static const char TCP[] = "\txprt:\ttcp ";
#define TCP_NUMBERS 13

static const char columns_doc[] =
    "columns(text, places): of lines of tcp with thirteen plain numbers each, the columns at `places`.";

static PyObject *
columns(PyObject *self, PyObject *const *arguments, Py_ssize_t given)
{
    (void)self;
    Text text;
    Py_ssize_t places[TCP_NUMBERS], lines = 0;
    if (!has_arguments(given, 2) || !text_of(arguments[0], &text)) {
        return NULL;
    }
    Py_ssize_t width = PyTuple_Size(arguments[1]);
    if (width < 0 || width > TCP_NUMBERS) {
        return not_mine();
    }
    for (Py_ssize_t i = 0; i < width; i++) {
        places[i] = PyLong_AsSsize_t(PyTuple_GetItem(arguments[1], i));
        if (places[i] < 0 || places[i] >= TCP_NUMBERS) {
            return not_mine();
        }
    }
    for (const char *at = text.at; at < text.end; at++) {
        lines += *at == '\n';
    }
    if (lines == 0) {
        return not_mine();
    }
    PyObject *found = PyTuple_New(width);
    for (Py_ssize_t i = 0; found != NULL && i < width; i++) {
        PyObject *column = PyTuple_New(lines);
        if (column == NULL || PyTuple_SetItem(found, i, column) < 0) {
            found = dropped(found);
        }
    }
    for (Py_ssize_t line = 0; found != NULL && line < lines; line++) {
        long long values[TCP_NUMBERS];
        int is_good = skip(&text, TCP, sizeof TCP - 1);
        for (int i = 0; is_good && i < TCP_NUMBERS; i++) {
            is_good = number(&text, &values[i]) && *text.at++ == (i + 1 < TCP_NUMBERS ? ' ' : '\n');
        }
        if (!is_good) {
            Py_DecRef(found);
            return not_mine();
        }
        for (Py_ssize_t i = 0; found != NULL && i < width; i++) {
            PyObject *each = PyLong_FromLongLong(values[places[i]]);
            if (each == NULL || PyTuple_SetItem(PyTuple_GetItem(found, i), line, each) < 0) {
                found = dropped(found);
            }
        }
    }
    if (found != NULL && text.at != text.end) {
        Py_DecRef(found);
        return not_mine();
    }
    return found;
}

/* ---------------------------------------------------------------- mountstats: the table */

#define OPERATION_FIELDS 9 /* of which a kernel may lack the last */

/* The numbers of a good line behind the colon; how many of the fields, or -1. */
static Py_ssize_t
operation(Text *text, long long *values)
{
    Py_ssize_t count = 0;
    long long passed;
    if (text->end - text->at < 2 || text->at[1] == '0') { /* of a used one, not no calls */
        return -1;
    }
    do {
        if (*text->at++ != ' ' || !number(text, count < OPERATION_FIELDS ? &values[count] : &passed)) {
            return -1;
        }
        count += count < OPERATION_FIELDS;
    } while (*text->at != '\n');
    text->at++;
    return count < OPERATION_FIELDS - 1 ? -1 : count;
}

static const char table_doc[] =
    "table(text, start, last, places, known, data, kind): of the table `last` with other numbers, which\n"
    "begins at `start`: where it ends, and the operations of it that are known: those of `known` whose\n"
    "lines did not change, and those of `data` whose lines did.";

static PyObject *
table(PyObject *self, PyObject *const *arguments, Py_ssize_t given)
{
    (void)self;
    Text text, last;
    if (!has_arguments(given, 7) || !text_from(arguments[0], arguments[1], &text)
        || !text_of(arguments[2], &last)) {
        return NULL;
    }
    PyObject *places = arguments[3], *known = arguments[4], *data = arguments[5];
    PyObject *name = NULL, *value = NULL, *found = PyDict_New();
    Py_ssize_t next = 0, used = -1, place = 0;
    if (found == NULL) {
        return NULL;
    }
    if (PyDict_Size(places) < 0 || PyDict_Size(known) < 0) {
        goto other; /* no dictionaries: it was raised */
    }
    for (; last.at < last.end; place++) {
        if (used < place) {
            used = PyDict_Next(places, &next, &name, &value) ? PyLong_AsSsize_t(value) : PTRDIFF_MAX;
            if (used < place) {
                goto other;
            }
        }
        const char *stop = memchr(last.at, '\n', (size_t)(last.end - last.at));
        if (stop == NULL) {
            goto other;
        }
        Py_ssize_t length = stop + 1 - last.at;
        PyObject *now = NULL;
        if (skip(&text, last.at, length)) {
            if (used == place) {
                now = one_more(PyDict_GetItemWithError(known, name));
            }
        } else {
            const char *colon = memchr(last.at, ':', (size_t)length);
            long long values[OPERATION_FIELDS];
            Py_ssize_t count = -1;
            if (used == place && colon != NULL && skip(&text, last.at, colon + 1 - last.at)) {
                count = operation(&text, values);
            }
            if (count < 0) {
                goto other;
            }
            int is_data = PySequence_Contains(data, name);
            if (is_data > 0) {
                now = named(arguments[6], integers(values, count, OPERATION_FIELDS));
            }
        }
        if (now != NULL) {
            int failed = PyDict_SetItem(found, name, now);
            Py_DecRef(now);
            if (failed < 0) {
                goto other;
            }
        }
        if (PyErr_Occurred()) {
            goto other;
        }
        last.at = stop + 1;
    }
    char *begin = PyBytes_AsString(arguments[0]);
    return Py_BuildValue("(nN)", (Py_ssize_t)(text.at - begin), found);
other:
    Py_DecRef(found);
    return not_mine();
}

static const char operations_doc[] =
    "operations(text, places, known, kind): the operations of which `places` are the lines of the table,\n"
    "in their order: those of `known` as they are.";

static PyObject *
operations(PyObject *self, PyObject *const *arguments, Py_ssize_t given)
{
    (void)self;
    Text text;
    if (!has_arguments(given, 4) || !text_of(arguments[0], &text)) {
        return NULL;
    }
    PyObject *name = NULL, *value = NULL, *found = PyDict_New();
    Py_ssize_t next = 0, line = 0;
    if (found == NULL || PyDict_Size(arguments[1]) < 0 || PyDict_Size(arguments[2]) < 0) {
        goto other;
    }
    while (PyDict_Next(arguments[1], &next, &name, &value)) {
        Py_ssize_t place = PyLong_AsSsize_t(value);
        PyObject *now = PyDict_GetItemWithError(arguments[2], name);
        if (now != NULL) {
            Py_IncRef(now);
        } else {
            long long values[OPERATION_FIELDS];
            const char *colon = NULL;
            for (; line < place && text.at != NULL; line++) {
                const char *stop = memchr(text.at, '\n', (size_t)(text.end - text.at));
                text.at = stop == NULL ? NULL : stop + 1;
            }
            if (line == place && text.at != NULL) {
                colon = memchr(text.at, ':', (size_t)(text.end - text.at));
            }
            if (colon == NULL) {
                goto other;
            }
            text.at = colon + 1;
            Py_ssize_t count = operation(&text, values);
            if (count < 0) {
                goto other;
            }
            line++;
            now = named(arguments[3], integers(values, count, OPERATION_FIELDS));
        }
        int failed = now == NULL || PyDict_SetItem(found, name, now) < 0;
        Py_DecRef(now);
        if (failed) {
            goto other;
        }
    }
    return found;
other:
    Py_DecRef(found);
    return not_mine();
}

/* -------------------------------------------------------------------------- diskstats */

#define DISK_NUMBERS 17
#define DISK_FIELDS (2 + DISK_NUMBERS)

/* A line of the disk `name`, to its newline: its counters; NULL: raised, or it is not surely that. */
static PyObject *
disk(Text *text, PyObject *name, PyObject *kind)
{
    long long device[2], values[DISK_NUMBERS], passed;
    Py_ssize_t size, count = 0;
    const char *spelled = PyUnicode_AsUTF8AndSize(name, &size);
    if (spelled == NULL) {
        PyErr_Clear(); /* no valid text */
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        skip_blanks(text);
        if (!number(text, &device[i]) || *text->at != ' ') {
            return NULL;
        }
    }
    skip_blanks(text);
    if (!skip(text, spelled, size)) {
        return NULL;
    }
    for (;;) {
        const char *before = text->at;
        skip_blanks(text);
        if (text->at == text->end) {
            return NULL;
        }
        if (*text->at == '\n') {
            break;
        }
        if (text->at == before || !number(text, count < DISK_NUMBERS ? &values[count] : &passed)) {
            return NULL;
        }
        count += count < DISK_NUMBERS;
    }
    count = count >= 17 ? 17 : count >= 15 ? 15 : count >= 11 ? 11 : 0; /* groups as they came */
    PyObject *fields = count ? PyTuple_New(DISK_FIELDS) : NULL;
    if (fields == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < DISK_FIELDS; i++) {
        PyObject *each = i == 0          ? one_more(name)
                         : i == 1        ? integers(device, 2, 2)
                         : i - 2 < count ? PyLong_FromLongLong(values[i - 2])
                                         : one_more(&_Py_NoneStruct);
        if (each == NULL || PyTuple_SetItem(fields, i, each) < 0) {
            Py_DecRef(fields);
            return NULL;
        }
    }
    return named(kind, fields);
}

static const char disks_doc[] =
    "disks(text, lines, disks, kind): of a file with the disks of which `lines` are, in their order: the\n"
    "disks by name, and the lines.";

static PyObject *
disks(PyObject *self, PyObject *const *arguments, Py_ssize_t given)
{
    (void)self;
    Text text, last;
    if (!has_arguments(given, 4) || !text_of(arguments[0], &text)) {
        return NULL;
    }
    PyObject *lines = arguments[1], *before = arguments[2], *name, *value;
    Py_ssize_t next = 0, count = PyTuple_Size(lines);
    if (count < 0 || PyDict_Size(before) != count) {
        return not_mine();
    }
    PyObject *found = PyDict_New(), *now = PyTuple_New(count);
    if (found == NULL || now == NULL) {
        goto other;
    }
    for (Py_ssize_t i = 0; i < count && PyDict_Next(before, &next, &name, &value); i++) {
        const char *start = text.at;
        PyObject *line = PyTuple_GetItem(lines, i), *each;
        if (!text_of(line, &last)) {
            goto other;
        }
        if (skip(&text, last.at, last.end - last.at) && text.at < text.end && *text.at == '\n') {
            Py_IncRef(line);
            each = one_more(value);
        } else {
            text.at = start;
            each = disk(&text, name, arguments[3]);
            if (each == NULL) {
                goto other;
            }
            line = PyBytes_FromStringAndSize(start, text.at - start);
        }
        int failed = line == NULL || PyTuple_SetItem(now, i, line) < 0 || PyDict_SetItem(found, name, each) < 0;
        Py_DecRef(each);
        if (failed) {
            goto other;
        }
        text.at++;
    }
    if (text.at == text.end) {
        return Py_BuildValue("(NN)", found, now);
    }
other:
    Py_DecRef(found);
    Py_DecRef(now);
    return not_mine();
}

/* -------------------------------------------------------------------- between two readings */

static const char grown_doc[] =
    "grown(before, after, first, end, gauge): by how much the columns from `first` to `end` grew, 0\n"
    "for the one at `gauge`.";

static PyObject *
grown(PyObject *self, PyObject *const *arguments, Py_ssize_t given)
{
    (void)self;
    if (!has_arguments(given, 5)) {
        return NULL;
    }
    Py_ssize_t first = PyLong_AsSsize_t(arguments[2]), end = PyLong_AsSsize_t(arguments[3]);
    Py_ssize_t gauge = PyLong_AsSsize_t(arguments[4]);
    PyObject *found = PyErr_Occurred() ? NULL : PyTuple_New(end > first ? end - first : 0);
    for (Py_ssize_t i = first; found != NULL && i < end; i++) {
        PyObject *was = PyTuple_GetItem(arguments[0], i), *now = PyTuple_GetItem(arguments[1], i);
        if (was == NULL || now == NULL || was == &_Py_NoneStruct || now == &_Py_NoneStruct) {
            Py_DecRef(found);
            return not_mine();
        }
        long long before = PyLong_AsLongLong(was), after = PyLong_AsLongLong(now);
        if (before < 0 || after < before || after - before >= MOST_GROWN) {
            if (i != gauge || PyErr_Occurred()) {
                PyErr_Clear(); /* more than 63 bits */
                Py_DecRef(found);
                return not_mine();
            }
        }
        PyObject *each = PyLong_FromLongLong(i == gauge ? 0 : after - before);
        if (each == NULL || PyTuple_SetItem(found, i - first, each) < 0) {
            found = dropped(found);
        }
    }
    return found;
}

/* ----------------------------------------------------------------------------- module */

#define FUNCTION(name) {#name, name, METH_FASTCALL, name##_doc}

static const PyMethodDef functions[] = {
    FUNCTION(rest),       FUNCTION(front), FUNCTION(columns), FUNCTION(table),
    FUNCTION(operations), FUNCTION(disks), FUNCTION(grown),
    {NULL, NULL, 0, NULL},
};

static const PyModuleDef_Slot slots[] = {{0, NULL}};

static PyModuleDef module = {
    .refcnt = 1,
    .name = "ioplateau.measure._scan",
    .doc = "The native twin of the lean scan: see native.py.",
    .methods = functions,
    .slots = slots,
};

__attribute__((visibility("default"))) PyObject *PyInit__scan(void);

PyObject *
PyInit__scan(void)
{
    return PyModuleDef_Init(&module);
}
