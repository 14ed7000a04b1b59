/* The native twin of the exposition's samples: prometheus.py beside it says how they are written.

   Given the names of a table's rows, the label sets of its things and what each row is of each
   thing, it writes every sample, the same as the Python beside it would. A number that is not
   plainly one of a few kinds is spelled by Python, and a view with a value that is no number is
   Python's as a whole.

   Only the stable ABI of Python 3.11 (_abi.h): what is built fits all later versions. */

#include "../measure/_abi.h"

#include <math.h>
#include <string.h>

#define LARGE 1000000LL            /* from here on with an exponent */
#define EXACT 1000000000000000LL   /* below, every digit of a whole number is one of its float */
#define LONGEST_NUMBER 32

typedef struct {
    char *start;
    size_t used, size;
} Buffer;

static int
append(Buffer *buffer, const char *what, size_t size)
{
    if (buffer->size - buffer->used < size) {
        size_t wanted = 2 * (buffer->used + size);
        char *grown = PyMem_Realloc(buffer->start, wanted);
        if (grown == NULL) {
            PyErr_NoMemory();
            return 0;
        }
        buffer->start = grown;
        buffer->size = wanted;
    }
    memcpy(buffer->start + buffer->used, what, size);
    buffer->used += size;
    return 1;
}

/* What a decimal with `places` digits behind the point is as a float; its length. */
static size_t
spelled(char *at, long long digits, int places)
{
    char written[LONGEST_NUMBER], *end = written + sizeof written, *first = end;
    do {
        *--first = (char)('0' + digits % 10);
        digits /= 10;
    } while (digits || end - first <= places);
    char *begin = at;
    long whole = end - first - places;
    int is_large = whole > 6;
    while (end[-1] == '0' && end - first > (is_large ? 1 : whole + 1)) {
        end--;
    }
    for (long i = 0; i < (is_large ? 1 : whole); i++) {
        *at++ = *first++;
    }
    if (!is_large || first < end) {
        *at++ = '.';
    }
    if (!is_large && first == end) {
        *at++ = '0';
    }
    while (first < end) {
        *at++ = *first++;
    }
    if (is_large) {
        *at++ = 'e';
        *at++ = '+';
        *at++ = (char)('0' + (whole - 1) / 10);
        *at++ = (char)('0' + (whole - 1) % 10);
    }
    return (size_t)(at - begin);
}

/* Numbers of which the shortest digits are known: counters, and what was counted in thousandths.
   Its length; 0: it is none of these. */
static size_t
plain(PyObject *value, int is_whole, char *at)
{
    if (is_whole) {
        long long whole = PyLong_AsLongLong(value);
        if (whole == -1 && PyErr_Occurred()) {
            PyErr_Clear(); /* more than 63 bits */
        }
        return 0 <= whole && whole < EXACT ? spelled(at, whole, 0) : 0;
    }
    double number = PyFloat_AsDouble(value);
    if (!(0 <= number && number < (double)(EXACT / 1000)) || signbit(number)) {
        return 0;
    }
    /* Of decimals with at most 15 digits no two are one float. */
    long long thousandths = (long long)(number * 1000 + 0.5);
    return (double)thousandths / 1000 == number ? spelled(at, thousandths, 3) : 0;
}

/* Whether the number was written. */
static int
append_number(Buffer *buffer, PyObject *value, int is_whole, PyObject *spell)
{
    char written[LONGEST_NUMBER];
    size_t length = plain(value, is_whole, written);
    if (length) {
        return append(buffer, written, length);
    }
    if (!is_whole) {
        double number = PyFloat_AsDouble(value);
        if (-LARGE < number && number < LARGE) {
            char *digits = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
            int done = digits != NULL && append(buffer, digits, strlen(digits));
            PyMem_Free(digits);
            return done;
        }
    }
    Py_ssize_t size;
    PyObject *found = PyObject_CallFunctionObjArgs(spell, value, NULL);
    const char *digits = found == NULL ? NULL : PyUnicode_AsUTF8AndSize(found, &size);
    int done = digits != NULL && append(buffer, digits, (size_t)size);
    Py_DecRef(found);
    return done;
}

/* Whether the sample was written; -1: its value is no number, nor unknown. */
static int
append_sample(Buffer *buffer, PyObject *name, PyObject *labels, PyObject *value, PyObject *spell)
{
    Py_ssize_t name_size, labels_size;
    PyObject *type = PyObject_Type(value);
    int is_whole = type == (PyObject *)&PyLong_Type || type == (PyObject *)&PyBool_Type;
    int is_number = is_whole || type == (PyObject *)&PyFloat_Type;
    Py_DecRef(type);
    if (!is_number) {
        return value == &_Py_NoneStruct ? 1 : -1;
    }
    const char *named = PyUnicode_AsUTF8AndSize(name, &name_size);
    const char *labelled = named == NULL ? NULL : PyUnicode_AsUTF8AndSize(labels, &labels_size);
    return labelled != NULL && append(buffer, named, (size_t)name_size)
           && append(buffer, labelled, (size_t)labels_size) && append(buffer, " ", 1)
           && append_number(buffer, value, is_whole, spell) && append(buffer, "\n", 1);
}

static const char columns_doc[] =
    "columns(names, labels, values, spell): for each name the samples of all things, of which these are\n"
    "the label sets, and the values by thing and name; None: one of them is no number.";

static PyObject *
columns(PyObject *self, PyObject *const *arguments, Py_ssize_t given)
{
    (void)self;
    if (given != 4) {
        PyErr_SetString(PyExc_TypeError, "want four arguments");
        return NULL;
    }
    PyObject *names = arguments[0], *labels = arguments[1], *values = arguments[2];
    Py_ssize_t rows = PyTuple_Size(names), things = PyList_Size(labels);
    PyObject *found = rows < 0 || things < 0 ? NULL : PyTuple_New(rows);
    Buffer buffer = {NULL, 0, 0};
    int done = found != NULL;
    for (Py_ssize_t row = 0; done > 0 && row < rows; row++) {
        buffer.used = 0;
        for (Py_ssize_t thing = 0; done > 0 && thing < things; thing++) {
            PyObject *each = PyList_GetItem(values, thing);
            PyObject *value = each == NULL ? NULL : PyList_GetItem(each, row);
            PyObject *label = value == NULL ? NULL : PyList_GetItem(labels, thing);
            done = label == NULL ? 0
                                 : append_sample(&buffer, PyTuple_GetItem(names, row), label, value,
                                                 arguments[3]);
        }
        if (done > 0) {
            PyObject *column = PyBytes_FromStringAndSize(buffer.start, (Py_ssize_t)buffer.used);
            done = column != NULL && PyTuple_SetItem(found, row, column) == 0;
        }
    }
    PyMem_Free(buffer.start);
    if (done > 0) {
        return found;
    }
    Py_DecRef(found);
    if (done < 0) {
        Py_IncRef(&_Py_NoneStruct);
        return &_Py_NoneStruct;
    }
    return NULL;
}

static const PyMethodDef functions[] = {
    {"columns", columns, METH_FASTCALL, columns_doc},
    {NULL, NULL, 0, NULL},
};

static const PyModuleDef_Slot slots[] = {{0, NULL}};

static PyModuleDef module = {
    .refcnt = 1,
    .name = "ioplateau.tell._samples",
    .doc = "The native twin of the exposition's samples: see prometheus.py.",
    .methods = functions,
    .slots = slots,
};

__attribute__((visibility("default"))) PyObject *PyInit__samples(void);

PyObject *
PyInit__samples(void)
{
    return PyModuleDef_Init(&module);
}
