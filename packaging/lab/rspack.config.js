// Ids of modules that do not depend on the folder in which this is built.
module.exports = { optimization: { moduleIds: 'natural' } };
