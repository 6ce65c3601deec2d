// check_kubernetes.js FILE: checks each object of the file with the schemas of Kubernetes.
"use strict";

const fs = require("fs");
const { Service } = require("kubernetes-models/v1/Service");
const { Deployment } = require("kubernetes-models/apps/v1/Deployment");
const { StatefulSet } = require("kubernetes-models/apps/v1/StatefulSet");
const { parseAllDocuments } = require("yaml");

const models = { "v1 Service": Service, "apps/v1 Deployment": Deployment, "apps/v1 StatefulSet": StatefulSet };

function violation(object) {
  const Model = models[`${object.apiVersion} ${object.kind}`];
  if (!Model) return `no schema for ${object.apiVersion} ${object.kind}`;
  try {
    new Model(object).validate();
    return null;
  } catch (error) {
    return error.message;
  }
}

let failed = false;
function report(text) {
  console.error(text);
  failed = true;
}

const objects = parseAllDocuments(fs.readFileSync(process.argv[2], "utf8")).map((document) => {
  document.errors.forEach((error) => report(error.message));
  return document.toJS();
});
for (const object of objects) {
  const wrong = violation(object);
  if (wrong) report(`${object.kind} ${object.metadata.name}: ${wrong}`);
}

// Checks that the schemas detect an error.
const broken = structuredClone(objects.find((object) => object.kind === "StatefulSet"));
broken.spec.template.spec.containers[0].ports[0].containerPort = "11300";
if (!violation(broken)) report("the schemas accept a port that is not a number");

console.log(`${objects.length} objects${failed ? "" : ", all good"}`);
process.exit(failed ? 1 : 0);
