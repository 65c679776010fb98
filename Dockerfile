# syntax=docker/dockerfile:1

# One exact version for all stages. A registry's digest may be appended: node:24.21.0-slim@sha256:…
ARG NODE_IMAGE=node:24.21.0-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY demo ./demo
COPY src ./src
RUN npm run build

FROM ${NODE_IMAGE}
ARG NODE_IMAGE
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Rungraph" \
      org.opencontainers.image.description="A GraphQL gateway over a REST service that tracks machine-learning runs" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="2.0.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="docker.io/library/${NODE_IMAGE}"
WORKDIR /app
ENV NODE_ENV=production HOST=:: PORT=4000
COPY package.json package-lock.json ./
RUN npm ci --omit=dev && npm cache clean --force
COPY --from=build /app/dist ./dist
COPY schema ./schema
COPY src/http/graphiql/page ./src/http/graphiql/page
USER node
EXPOSE 4000
# By bash: to start Node every 10 seconds would take as much CPU as a hundred operations.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["bash", "-c", "exec 3<>/dev/tcp/localhost/$PORT && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r status <&3 && [[ $status == 'HTTP/1.1 200 OK'* ]]"]
CMD ["node", "--disable-warning=ExperimentalWarning", "--max-semi-space-size=32", "--heap-growing-percent=100", "--no-allocation-site-pretenuring", "--no-minor-gc-task", "dist/src/main.js"]
